// Tests what messages say, and that what people wrote into names and reasons stays text.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EVENT_TYPES } from '../../src/contract/notification.ts';
import { eventMail, slackBody, webhookBody } from '../../src/notify/message.ts';
import { eventSentence } from '../../src/words/event-sentence.ts';
import { EVENTS, eventWith } from './events.ts';

const CONSOLE = 'https://updates.example.com';
const PAGE = `${CONSOLE}/console/apps/desktop/beta/2.5.0-beta.1`;

it.each(EVENTS)('%o is said in a sentence', (event, sentence) => {
  expect(eventSentence(event)).toBe(sentence);
});

it('has a sentence for each event', () => {
  expect([...new Set(EVENTS.map(([{ type }]) => type))]).toEqual([...EVENT_TYPES]);
});

it('is told to a webhook with its type, time and data', () => {
  const event = eventWith('plan.tripped', {});
  expect(JSON.parse(webhookBody(event, CONSOLE))).toEqual({
    type: 'plan.tripped',
    timestamp: event.timestamp,
    data: { ...event.data, url: PAGE },
  });
});

it('says how many releases a stop has paused, where one event tells of all', () => {
  const event = eventWith('release.paused', { version: null, stop: 'stp_1', releases: 250 });
  expect(eventSentence(event)).toMatch(/^desktop beta stopped, 250 releases by /);
});

it('is told to Slack in a sentence with a link, in which what people write is no command', () => {
  const release = 'desktop beta 2.5.0-beta.1';
  const path = 'desktop/beta/2.5.0-beta.1';
  for (const [parts, text, page] of [
    [
      { reason: '<!channel> & <https://evil|click>' },
      `${release} paused by its plan: &lt;!channel&gt; &amp; &lt;https://evil|click&gt;. `,
      path,
    ],
    [
      { app: 'a&amp;b', channel: '<!here>|x', version: '1<2>3' },
      'a&amp;amp;b &lt;!here&gt;|x 1&lt;2&gt;3 paused by its plan: stuck: 30 of 205 devices. ',
      'a%26amp%3Bb/%3C!here%3E%7Cx/1%3C2%3E3',
    ],
    [
      { reason: '@channel, ask ann@example.com' },
      `${release} paused by its plan: @\u200bchannel, ask ann@example.com. `,
      path,
    ],
  ] as const) {
    expect(JSON.parse(slackBody(eventWith('release.paused', parts), CONSOLE))).toEqual({
      text: `${text}<${CONSOLE}/console/apps/${page}|Open>`,
    });
  }
});

it('leads to its page; of an approval to that on which people decide (§30.9)', () => {
  for (const [type, place, path] of [
    ['release.paused', { channel: 'fleet' }, 'apps/desktop/~fleet/2.5.0-beta.1'],
    ['release.paused', { channel: '~early' }, 'apps/desktop/~~early/2.5.0-beta.1'],
    ['release.paused', { channel: 'a b', version: null }, 'apps/desktop/a%20b'],
    ['approval.requested', {}, 'approvals/apr_1'],
  ] as const) {
    const { data } = JSON.parse(webhookBody(eventWith(type, place), CONSOLE));
    expect(data.url).toBe(`${CONSOLE}/console/${path}`);
  }
});

it('is told by mail with a subject of one line, the page, and how to stop where a link was confirmed', () => {
  const event = eventWith('release.paused', { reason: 'bad\r\nBcc: all@example.com' });
  const mail = eventMail(event, CONSOLE, false);
  expect(mail).toEqual({
    subject: 'desktop beta 2.5.0-beta.1 paused by its plan: bad Bcc: all@example.com',
    text: expect.stringContaining(`\n\n${PAGE}\n\n`),
  });
  const words = 'The link with which you did so stops them.';
  expect(eventMail(event, CONSOLE, true).text).toContain(words);
  expect(mail.text).not.toContain(words);
});

it('is one bounded line, whatever people write', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2000 }), (reason) => {
      const sentence = eventSentence(eventWith('release.paused', { reason }));
      expect(sentence).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
      expect(sentence.length).toBeLessThanOrEqual(1000);
      const { subject } = eventMail(eventWith('release.paused', { reason }), CONSOLE, false);
      expect(subject.length).toBeLessThanOrEqual(200);
    }),
  );
});
