// Work on release notes that is done beside the serving thread, as data: what can be asked, what is answered,
// and how. Notes are written by strangers and can take long to render and to write into a feed.

import type { Release } from '../../contract/resource.ts';
import type { Appcast } from '../../updater/sparkle.ts';
import { type TaggedBody, tagBody } from '../transport/reply.ts';
import {
  type FeedHead,
  type FeedName,
  JSON_RELEASE_NOTES,
  type ReleaseNotesFormat,
  RSS_RELEASE_NOTES,
  writeAppcast,
} from './feed-formats.ts';
import { notesAsWritten, notesHtml } from './notes-html.ts';

/** Rendering of notes to HTML. */
export type HtmlJob = {
  readonly kind: 'html';
  readonly notes: string;
  /** Whether the notes are shown as they were written, because rendering them took too long. */
  readonly isPlain: boolean;
};

/** Writing of one release of a feed. */
export type ItemJob = {
  readonly kind: 'item';
  readonly format: FeedName;
  readonly feed: FeedHead;
  readonly release: Release;
  /** Whether the notes are shown as they were written, because rendering them took too long. */
  readonly isPlain: boolean;
};

/** Writing of an appcast that offers a release. */
export type AppcastJob = {
  readonly kind: 'appcast';
  readonly appcast: Appcast;
  /** Base URL of the service. */
  readonly address: string;
  /** Whether the notes are shown as they were written, because rendering them took too long. */
  readonly isPlain: boolean;
};

/** Joining of a feed from its written releases, whose bytes are handed over. */
type FeedJob = {
  readonly kind: 'feed';
  readonly format: FeedName;
  readonly feed: FeedHead;
  readonly items: readonly Uint8Array<ArrayBuffer>[];
};

export type NotesJob = HtmlJob | ItemJob | AppcastJob | FeedJob;

/** Feed as bytes that can be handed over to another thread, with its entity tag. */
export type WrittenFeed = { readonly bytes: Uint8Array<ArrayBuffer>; readonly etag: string };

/** Answer to a job: HTML, the bytes of a release or of an appcast, or a feed. */
export type NotesAnswer = string | Uint8Array<ArrayBuffer> | WrittenFeed;

const FORMATS: Readonly<Record<FeedName, ReleaseNotesFormat>> = {
  json: JSON_RELEASE_NOTES,
  rss: RSS_RELEASE_NOTES,
};
/**
 * Encoder of texts. Unlike `Buffer.from`, it never writes into memory that other buffers share, which cannot
 * be handed over to another thread.
 */
const encoder = new TextEncoder();

/** Does a job. */
export function answerNotesJob(job: NotesJob): NotesAnswer {
  switch (job.kind) {
    case 'html':
      return job.isPlain ? notesAsWritten(job.notes) : notesHtml(job.notes);
    case 'item': {
      const toHtml = job.isPlain ? notesAsWritten : notesHtml;
      return encoder.encode(FORMATS[job.format].item(job.feed, job.release, toHtml));
    }
    case 'appcast': {
      const toHtml = job.isPlain ? notesAsWritten : notesHtml;
      return encoder.encode(writeAppcast(job.appcast, job.address, toHtml));
    }
    case 'feed':
      return joinFeed(job);
  }
}

/** Returns the memory that moves with an answer to another thread instead of being copied. */
export function movesWith(answer: NotesAnswer): readonly ArrayBuffer[] {
  if (typeof answer === 'string') return [];
  return [(answer instanceof Uint8Array ? answer : answer.bytes).buffer];
}

function joinFeed({ format, feed, items }: FeedJob): WrittenFeed {
  const { open, separator, close } = FORMATS[format];
  const between = encoder.encode(separator);
  const parts = [encoder.encode(open(feed))];
  for (const [index, item] of items.entries()) {
    if (index > 0) parts.push(between);
    parts.push(item);
  }
  parts.push(encoder.encode(close));
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let end = 0;
  for (const part of parts) {
    bytes.set(part, end);
    end += part.length;
  }
  const { etag }: TaggedBody = tagBody(Buffer.from(bytes.buffer));
  return { bytes, etag };
}
