// Jobs of the thread that renders release notes and writes feeds: their data, their answers, and how they are
// done. Strangers write notes, which can take long to render and to write into a feed.

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

/** Renders notes to HTML. */
export type HtmlJob = {
  readonly kind: 'html';
  readonly notes: string;
  /** Whether the notes are shown as plain text, because rendering them took too long. */
  readonly isPlain: boolean;
};

/** Writes one release of a feed. */
export type ItemJob = {
  readonly kind: 'item';
  readonly format: FeedName;
  readonly feed: FeedHead;
  readonly release: Release;
  /** Whether the notes are shown as plain text, because rendering them took too long. */
  readonly isPlain: boolean;
};

/** Writes an appcast that offers a release. */
export type AppcastJob = {
  readonly kind: 'appcast';
  readonly appcast: Appcast;
  /** Base URL of the service. */
  readonly address: string;
  /** Whether the notes are shown as plain text, because rendering them took too long. */
  readonly isPlain: boolean;
};

/** Joins a feed from its written releases, whose bytes are transferred to the thread. */
type FeedJob = {
  readonly kind: 'feed';
  readonly format: FeedName;
  readonly feed: FeedHead;
  readonly items: readonly Uint8Array<ArrayBuffer>[];
};

export type NotesJob = HtmlJob | ItemJob | AppcastJob | FeedJob;

/** Feed as bytes that can be transferred to another thread, with its entity tag. */
export type WrittenFeed = { readonly bytes: Uint8Array<ArrayBuffer>; readonly etag: string };

/** Answer to a job: HTML, the bytes of a release or of an appcast, or a feed. */
export type NotesAnswer = string | Uint8Array<ArrayBuffer> | WrittenFeed;

const FORMATS: Readonly<Record<FeedName, ReleaseNotesFormat>> = {
  json: JSON_RELEASE_NOTES,
  rss: RSS_RELEASE_NOTES,
};
/**
 * Encoder of texts. Unlike `Buffer.from`, it never writes into a memory pool that other buffers share, which
 * could not be transferred to another thread.
 */
const encoder = new TextEncoder();

/** Does a job, and returns its answer. */
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

/** Returns the memory of an answer that is transferred to the other thread instead of being copied. */
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
