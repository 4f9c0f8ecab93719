// Messages about an event, in the form of each kind of destination: the body of a webhook, the text for
// Slack, the subject and text of a mail. Each contains the URL of the console's page about the event.

import { eventPath, type NotificationEvent } from '../contract/notification.ts';
import { eventSentence } from '../words/event-sentence.ts';

/** Maximum length of the subject of a mail. */
const SUBJECT_LENGTH_MAX = 200;

/** Returns the URL of the page about an event. `consoleUrl` is the base URL of the console. */
function pageUrl(event: NotificationEvent, consoleUrl: string): string {
  return consoleUrl + eventPath(event);
}

/** Returns the body of a webhook, as Standard Webhooks recommends. */
export function webhookBody(event: NotificationEvent, consoleUrl: string): string {
  const { type, timestamp, data } = event;
  return JSON.stringify({ type, timestamp, data: { ...data, url: pageUrl(event, consoleUrl) } });
}

/** Returns the body for an incoming webhook of Slack, which Mattermost and Discord understand as well. */
export function slackBody(event: NotificationEvent, consoleUrl: string): string {
  const link = `<${escapeSlack(pageUrl(event, consoleUrl))}|Open>`;
  return JSON.stringify({ text: `${escapeSlack(eventSentence(event))} ${link}` });
}

/**
 * Escapes what Slack would take for a link, a mention or a command: `&`, `<` and `>`, as Slack asks.
 * Mattermost and Discord take `@channel` in plain text for a mention, so a zero-width space follows the `@`.
 */
function escapeSlack(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replaceAll(/(?<!\w)@(?=\w)/g, '@\u200b');
}

const HOW_TO_STOP =
  'You confirmed that you want these mails. The link with which you did so stops them.';

export type MailText = { readonly subject: string; readonly text: string };

/** Returns a mail about an event. If the recipient confirmed a link (`isConfirmed`), it says how to stop. */
export function eventMail(
  event: NotificationEvent,
  consoleUrl: string,
  isConfirmed: boolean,
): MailText {
  const sentence = eventSentence(event);
  const { organization, reason } = event.data;
  const lines = [
    sentence,
    '',
    pageUrl(event, consoleUrl),
    '',
    `${event.type}, ${event.timestamp}`,
    `Organization: ${organization.name}`,
    ...(reason === null ? [] : [`Reason: ${reason}`]),
    ...(isConfirmed ? ['', HOW_TO_STOP] : []),
  ];
  const isLong = sentence.length > SUBJECT_LENGTH_MAX;
  const subject = isLong ? `${sentence.slice(0, SUBJECT_LENGTH_MAX - 1)}…` : sentence;
  return { subject: subject.replace(/\.$/, ''), text: `${lines.join('\n')}\n` };
}
