// Sends mails by the operator's SMTP server, each on a connection of its own.

import { withinTime } from '../flow/within-time.ts';
import type { MailText } from './message.ts';

/** Longest time for a mail in all, in milliseconds. */
const MAIL_MS_MAX = 10_000;
/** Longest examination of a server. */
const EXAMINE_MS_MAX = 5000;
/** An address as a header has it: no list, no name, no line break. */
const ADDRESS = /^[^\p{Cc}\s<>@",;]+@[^\p{Cc}\s<>@",;]+$/u;

export type Mail = MailText & {
  /** Address of the recipient. */
  readonly to: string;
  /** Name of the mail, the same at every try: mail programs take a second one for a copy. */
  readonly id: string;
};

/** How mails are sent: URL of the server, and the sender as in the header `From`. */
export type MailServer = { readonly smtpUrl: string; readonly from: string };

export class Mailer {
  #server: MailServer | undefined;

  constructor(server: MailServer | undefined) {
    this.#server = server;
  }

  /** Uses another server from the next mail on; undefined: none. */
  use(server: MailServer | undefined): void {
    this.#server = server;
  }

  /** Sends a mail. Returns why it could not, in words; undefined once the server has taken it. */
  async send({ to, subject, text, id }: Mail): Promise<string | undefined> {
    if (this.#server === undefined) return 'SMTP_URL is not set';
    if (!ADDRESS.test(to)) return 'The address of the recipient is none';
    const { smtpUrl, from } = this.#server;
    const domain = /@([^>\s]+)>?$/.exec(from)?.[1] ?? 'localhost';
    // Loaded here, because it is a tenth of a node's start and few nodes send mails.
    const { createTransport } = await import('nodemailer');
    // Ends the connection too. What the server takes later counts as not sent: it is tried again.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), MAIL_MS_MAX);
    try {
      await createTransport(termsOf(smtpUrl)).sendMail({
        ...{ from, to: { name: '', address: to }, subject, text, messageId: `<${id}@${domain}>` },
        // So that absence notes are not sent back.
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: late.signal,
      });
      return undefined;
    } catch (error) {
      return late.signal.aborted ? `No answer within ${MAIL_MS_MAX / 1000} s` : wordsOf(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Asks a server of mails for its greeting, and signs in where the URL has a user. Returns why that failed, in
 * words without the password; undefined if it would take mails.
 */
export async function examineMailServer(smtpUrl: string): Promise<string | undefined> {
  // The transport's own `verify` cannot be ended: a byte now and then would hold its connection open.
  const { default: SmtpTransport } = await import('nodemailer/lib/smtp-transport');
  const { default: SmtpConnection } = await import('nodemailer/lib/smtp-connection');
  const { options } = new SmtpTransport(termsOf(smtpUrl, EXAMINE_MS_MAX));
  const connection = new SmtpConnection(options);
  const answers = new Promise<void>((resolve, reject) => {
    const conclude = (error?: Error | null) => (error ? reject(error) : resolve());
    connection.on('error', reject);
    connection.connect((error) => {
      const hasUser = options.auth !== undefined && connection.allowsAuth;
      if (error || !hasUser) conclude(error);
      else connection.login(options.auth, conclude);
    });
  });
  const outcome = await withinTime(
    answers.then(() => 'answers', wordsOf),
    EXAMINE_MS_MAX,
  );
  if (outcome === 'answers') connection.quit();
  connection.close();
  return outcome === 'answers' ? undefined : (outcome ?? 'it does not answer in time');
}

function termsOf(url: string, dnsTimeout = MAIL_MS_MAX) {
  return {
    ...{ url, connectionTimeout: MAIL_MS_MAX, greetingTimeout: MAIL_MS_MAX },
    ...{ socketTimeout: MAIL_MS_MAX, dnsTimeout },
    // Texts of mails are never read from files or addresses.
    ...{ disableFileAccess: true, disableUrlAccess: true },
  };
}

/** Says what the server answered; else what went wrong on the way. Neither has the password. */
function wordsOf(error: unknown): string {
  const { response, message } = error as { readonly response?: string; readonly message?: string };
  return response || message || 'The mail could not be sent';
}
