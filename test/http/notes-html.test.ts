// Tests notes as HTML: the meaning of the Markdown is kept, nothing in it can act, and it takes bounded time
// and space.

import { describe, expect, it } from 'vitest';
import { notesHtml } from '../../src/http/notes/notes-html.ts';
import { htmlBreaches } from '../support/feed-rules.ts';

const KIB = 1024;
const MARKDOWN_LENGTH_MAX = 32 * KIB;
/** Longest rendering: far above the measured 150 ms, far below quadratic time. */
const RENDER_MS_MAX = 1500;
const GROWTH_MAX = 40;
const REL = 'rel="noopener noreferrer nofollow"';

describe('notes as HTML', () => {
  it.each([
    ['# Title', '<h1>Title</h1>'],
    ['a **b** *c* ~~d~~ `e`', '<p>a <strong>b</strong> <em>c</em> <s>d</s> <code>e</code></p>'],
    ['- a\n- b', '<ul>\n<li>a</li>\n<li>b</li>\n</ul>'],
    ['3. a', '<ol start="3">\n<li>a</li>\n</ol>'],
    ['[a](https://b.c/)', `<p><a href="https://b.c/" ${REL}>a</a></p>`],
    ['[a](mailto:b@c.d)', `<p><a href="mailto:b@c.d" ${REL}>a</a></p>`],
    ['https://b.c/d', `<p><a href="https://b.c/d" ${REL}>https://b.c/d</a></p>`],
    ['[1.0]\n\n[1.0]: https://b.c/', `<p><a href="https://b.c/" ${REL}>1.0</a></p>`],
    ['```js\na < b\n```', '<pre><code>a &lt; b\n</code></pre>'],
    ['a <b>c</b> & d', '<p>a &lt;b&gt;c&lt;/b&gt; &amp; d</p>'],
    ['', ''],
    // Nothing is fetched unasked: an image is a link to it, and its text where it stands in a link.
    ['![shot](https://b.c/d.png)', `<p><a href="https://b.c/d.png" ${REL}>shot</a></p>`],
    [
      '[![badge](https://b.c/d.svg)](https://e.f/)',
      `<p><a href="https://e.f/" ${REL}>badge</a></p>`,
    ],
  ])('%j becomes %j', (notes, html) => {
    expect(notesHtml(notes)).toBe(html);
  });

  it.each([
    // As GitHub writes at the head of generated notes.
    [
      '<!-- Release notes generated using .github/release.yml at v1.2.0 -->\n\n## New\n\n* a',
      '<h2>New</h2>\n<ul>\n<li>a</li>\n</ul>',
    ],
    ['<!-- a -->', ''],
    ['<!-- a\n\n# b\n\n-->\nc', '<p>c</p>'],
    ['<!-- a\n\nb --> c', '<p>c</p>'],
    ['<!-- a --><!-- b -->\n<!---->\n<!-- - -- -->', ''],
    ['a <!-- https://b.c **d** --> e', '<p>a  e</p>'],
    ['a\n<!-- b -->\nc', '<p>a</p>\n<p>c</p>'],
    ['- a <!-- b -->\n- <!-- c\n  d -->\n  e', '<ul>\n<li>a </li>\n<li>e</li>\n</ul>'],
    ['> <!-- a\n> b -->\n> c', '<blockquote>\n<p>c</p>\n</blockquote>'],
    ['[a <!-- b -->](https://b.c/)', `<p><a href="https://b.c/" ${REL}>a </a></p>`],
    // What is no comment, or stands in code, is shown.
    ['`<!-- a -->`', '<p><code>&lt;!-- a --&gt;</code></p>'],
    ['```\n<!-- a -->\n```', '<pre><code>&lt;!-- a --&gt;\n</code></pre>'],
    ['    <!-- a -->', '<pre><code>&lt;!-- a --&gt;\n</code></pre>'],
    ['\\<!-- a -->', '<p>&lt;!-- a --&gt;</p>'],
    ['<!-- a\n\nb', '<p>&lt;!-- a</p>\n<p>b</p>'],
    ['<!- a ->', '<p>&lt;!- a -&gt;</p>'],
  ])('a comment is not shown: %j becomes %j', (notes, html) => {
    expect(notesHtml(notes)).toBe(html);
  });

  it('a comment at the head is left out of notes that are shown as they were written, too', () => {
    const long = 'x'.repeat(33 * KIB);
    expect(notesHtml(`<!-- a\nb -->\n <!-- c -->\n\n${long}`)).toBe(`<pre>${long}</pre>`);
    expect(notesHtml(`<!-- ${long}`)).toBe(`<pre>&lt;!-- ${long}</pre>`);
  });

  it.each([
    ...['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '[a](//evil.example/)'],
    ...['<a href="https://a.b" onclick="alert(1)">a</a>', '[a](javascript:alert(1))'],
    ...['[a](JaVaScRiPt:alert(1))', '[a](java\tscript:alert(1))', '[a](vbscript:x)'],
    ...['[a](&#106;avascript:alert(1))', '[a](data:text/html;base64,PHNjcmlwdD4=)'],
    ...['[a](/relative)', '![a](javascript:alert(1))', '![a](https://b.c/" onerror="alert(1))'],
    ...['[a](https://b.c/ "x\\" onmouseover=\\"alert(1)")', '<javascript:alert(1)>'],
    ...['<https://a.b/"onclick="alert(1)>', '```"><script>alert(1)</script>\nx\n```'],
    ...['|<script>|\n|-|\n|<iframe src=x>|', '</pre><script>alert(1)</script>'],
    ...['<style>*{display:none}</style><svg onload=alert(1)>', '[a]: javascript:alert(1)\n\n[a]'],
    '\u202e[a](https://b.c/)\u202c \u0000 \u0007 \ufffe \ud800 ]]>',
  ])('nothing acts in %j', (notes) => {
    expect(htmlBreaches(notesHtml(notes))).toEqual([]);
    const long = `${notes}\n\n${'x'.repeat(MARKDOWN_LENGTH_MAX)}`;
    expect(htmlBreaches(notesHtml(long))).toEqual([]);
  });

  it('notes over 32 Ki characters are shown as they were written, whole', () => {
    const notes = `# a <b>\n${'x'.repeat(256 * KIB)}`;
    expect(notesHtml(notes)).toBe(`<pre>${notes.replace('<b>', '&lt;b&gt;')}</pre>`);
  });

  it.each(Object.entries(hostile()))('%s take bounded time and room', (_name, notes) => {
    // A random end, so that this text was never rendered before.
    const text = `${notes.slice(0, MARKDOWN_LENGTH_MAX - 20)}\n${Math.random()}`;
    const before = process.cpuUsage();
    const html = notesHtml(text);
    // CPU time, to which other processes on the machine do not add.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(RENDER_MS_MAX);
    expect(html.length).toBeLessThan(GROWTH_MAX * MARKDOWN_LENGTH_MAX);
    expect(htmlBreaches(html)).toEqual([]);
  });
});

/** Texts that make Markdown parsers take quadratic time, or their output grow. */
function hostile(): Record<string, string> {
  const fill = (part: string) => part.repeat(Math.ceil(MARKDOWN_LENGTH_MAX / part.length));
  const nest = (open: string, close: string) => {
    const count = Math.floor((MARKDOWN_LENGTH_MAX - 30) / (open.length + close.length));
    return open.repeat(count) + close.repeat(count);
  };
  const wide = `|${fill('a|').slice(0, 10 * KIB)}\n|${fill('-|').slice(0, 10 * KIB)}\n`;
  return {
    'opening brackets': fill('['),
    'nested links': nest('[', '](http://a)'),
    'nested images': nest('![', '](http://a)'),
    'unfinished images': fill('![a]('),
    'unfinished titles': fill('[a](http://b "'),
    'nested emphasis': nest('*a **b ', '** c*'),
    'runs of backticks': Array.from({ length: 250 }, (_, i) => `${'`'.repeat(i)} `).join(''),
    'nested quotes': fill(`${'>'.repeat(15)}a\n\n`),
    'lazy lines below nested quotes': `${'> '.repeat(90)}\n${fill('a\n')}`,
    'nested lists': fill('- - - - - - a\n\n'),
    'wide tables of short rows': wide + fill('a\n'),
    'many tables': fill('a|b\n-|-\n'),
    'long references': `[x]: http://a/${'b'.repeat(16 * KIB)}\n\n${fill('[x]')}`,
    'long reference titles': `[x]: http://a '${'b'.repeat(16 * KIB)}'\n\n${fill('[x]')}`,
    'addresses within addresses': fill('http://a.b/'),
    'unfinished addresses': fill('http://'),
    'guesses at addresses': fill('//a.b/'),
    'quoted addresses': fill(`https://a.b/?"'`),
    'mail addresses': fill('mailto:a@b.c '),
    'angle brackets': fill('<a@b'),
    'percent signs': `[a](http://b/${fill('%')}`,
    entities: fill('&amp;"'),
    'unfinished comments': fill('<!--'),
    'lines of unfinished comments': fill('<!--\n'),
    'comments in comments': nest('<!-- ', ' -->'),
    'many comments': fill('<!---->\n'),
    'quoted unfinished comments': fill('> <!--\n\n'),
  };
}
