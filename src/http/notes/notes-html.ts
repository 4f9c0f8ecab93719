// Rendering of release notes to HTML that is safe in any page: for feed readers, which display whatever they
// receive, and for the console. Notes come from publishers, whose keys may have been stolen.
//
// Time and size are bounded for all notes: notes that could take long or grow large are shown as plain text.
// Measured: 32 KiB of prose take 30 ms, the worst known 32 KiB (a list of empty items) up to 400 ms. So this
// runs in a thread of its own (notes-thread.ts).

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import createMarkdownIt, { type MarkdownIt, type RendererRule } from 'markdown-it';
import sanitizeHtml from 'sanitize-html';
import { escapeHtml } from '../transport/escape-html.ts';
import { hideComments, withoutHeadComments } from './hide-comments.ts';

/** Maximum length in characters of notes that are rendered; longer ones are shown as plain text. */
const MARKDOWN_LENGTH_MAX = 32 * 1024;
/** Maximum nesting depth of quotes and lists; deeper content is left out. */
const NESTING_MAX = 20;
/**
 * Maximum number of table cells. A short row counts as full, because it is filled up to the table's width.
 */
const TABLE_CELLS_MAX = 5000;
/** Maximum number of characters that link definitions may add: each use of a definition repeats its URL. */
const REFERENCES_LENGTH_MAX = 512 * 1024;

const MEMO_COUNT_MAX = 5000;
const MEMO_CHARACTERS_MAX = 16 * 1024 * 1024;
const SCHEMES = ['http', 'https', 'mailto'];

const markdown = createMarkdown();

const SANITIZING: sanitizeHtml.IOptions = {
  allowedTags: [
    ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'pre', 'code'],
    ...['strong', 'em', 's', 'ul', 'ol', 'li', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  allowedAttributes: { a: ['href', 'rel'], ol: ['start'] },
  allowedSchemes: SCHEMES,
  allowProtocolRelative: false,
  // Linked pages must get no access to the opener window, and no referrer.
  transformTags: { a: sanitizeHtml.simpleTransform('a', { rel: 'noopener noreferrer nofollow' }) },
};

/**
 * Cache of rendered notes by their digest: every change of a channel renders its feed again, mostly with the
 * same notes.
 */
const memo = new LRUCache<string, string>({
  max: MEMO_COUNT_MAX,
  maxSize: MEMO_CHARACTERS_MAX,
  sizeCalculation: (html) => html.length + 1,
});

/**
 * Renders Markdown to sanitised HTML: no scripts, no styles, a link in place of each image, and links only to
 * http, https and mailto. HTML in the notes is shown as text; comments are left out. Never throws.
 */
export function notesHtml(notes: string): string {
  if (notes.length > MARKDOWN_LENGTH_MAX) return notesAsWritten(notes);
  const key = createHash('sha256').update(notes).digest('base64');
  const known = memo.get(key);
  if (known !== undefined) return known;
  const html = render(notes);
  memo.set(key, html);
  return html;
}

function render(notes: string): string {
  if (tableCells(notes) > TABLE_CELLS_MAX) return notesAsWritten(notes);
  try {
    return sanitizeHtml(markdown.render(notes, {}), SANITIZING).trim();
  } catch (error) {
    // Thousands of nested brackets overflow the parser's stack; such notes are shown as plain text.
    if (error instanceof RangeError) return notesAsWritten(notes);
    throw error;
  }
}

/** Returns HTML that shows notes as plain text, without comments at their head. */
export function notesAsWritten(notes: string): string {
  return `<pre>${escapeHtml(withoutHeadComments(notes))}</pre>`;
}

/** Returns an upper bound of the number of table cells in notes. */
function tableCells(notes: string): number {
  let lineCount = 0;
  let widest = 0;
  for (const line of notes.split('\n')) {
    lineCount += 1;
    widest = Math.max(widest, line.split('|').length - 1);
  }
  return lineCount * widest;
}

function createMarkdown(): MarkdownIt {
  const parser = createMarkdownIt({ html: false, linkify: true, maxNesting: NESTING_MAX });
  // Only complete URLs become links. Guessed ones (`example.com`, `//host`) are often wrong in release notes,
  // and searching them takes time quadratic in the length.
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  for (const schema of ['//', 'ftp:', 'mailto:']) parser.linkify.add(schema, null);
  parser.validateLink = isLinkable;
  parser.core.ruler.after('block', 'bounded-references', ({ env, src }) =>
    boundReferences(env, src),
  );
  showImagesAsLinks(parser);
  hideComments(parser);
  return parser;
}

function isLinkable(url: string): boolean {
  const scheme = /^\s*([a-z][a-z0-9+.-]*):/i.exec(url)?.[1];
  return scheme !== undefined && SCHEMES.includes(scheme.toLowerCase());
}

/** Drops the link definitions if expanding them could exceed the bound: references stay as plain text. */
function boundReferences(
  env: { references?: Record<string, { title: string; href: string }> },
  source: string,
): void {
  const definitions = Object.values(env.references ?? {});
  const longest = Math.max(0, ...definitions.map(({ href, title }) => href.length + title.length));
  const uses = source.split('[').length - 1;
  if (longest * uses > REFERENCES_LENGTH_MAX) env.references = {};
}

/** Replaces images by links: displaying notes must not send requests to servers that publishers chose. */
function showImagesAsLinks(parser: MarkdownIt): void {
  const { rules } = parser.renderer;
  const marking = (isInLink: boolean): RendererRule => {
    return (tokens, index, options, env, renderer) => {
      if (env !== undefined) env.isInLink = isInLink;
      return renderer.renderToken(tokens, index, options);
    };
  };
  rules.link_open = marking(true);
  rules.link_close = marking(false);
  rules.image = (tokens, index, options, env, renderer) => {
    const image = tokens[index];
    const address = String(image?.attrGet('src') ?? '');
    const alt = renderer.renderInlineAsText(image?.children ?? [], options, env);
    const text = escapeHtml(alt === '' ? address : alt);
    // A link must not contain another link.
    return env?.isInLink === true ? text : `<a href="${escapeHtml(address)}">${text}</a>`;
  };
}
