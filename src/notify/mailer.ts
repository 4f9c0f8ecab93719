// Sends mails through the operator's SMTP server, each on a new connection.

import { withinTime } from '../flow/within-time.ts';
import type { MailText } from './message.ts';

/** Maximum milliseconds for sending a mail, from the connection to the server's answer. */
const MAIL_MS_MAX = 10_000;
/** Maximum milliseconds for examining a server. */
const EXAMINE_MS_MAX = 5000;
/** One bare address, without a name, that is safe in a header: no list, no line break. */
const ADDRESS = /^[^\p{Cc}\s<>@",;]+@[^\p{Cc}\s<>@",;]+$/u;

export type Mail = MailText & {
  /** Address of the recipient. */
  readonly to: string;
  /** Id for the header `Message-ID`, the same at every try, so that mail programs recognise a duplicate. */
  readonly id: string;
};

/** Settings for sending mails: URL of the server, and the sender for the header `From`. */
export type MailServer = { readonly smtpUrl: string; readonly from: string };

export class Mailer {
  #server: MailServer | undefined;

  constructor(server: MailServer | undefined) {
    this.#server = server;
  }

  /** Uses another server from the next mail on; undefined: mails can no longer be sent. */
  use(server: MailServer | undefined): void {
    this.#server = server;
  }

  /** Sends a mail. Returns undefined once the server has accepted it, else the reason in words. */
  async send({ to, subject, text, id }: Mail): Promise<string | undefined> {
    if (this.#server === undefined) return 'SMTP_URL is not set';
    if (!ADDRESS.test(to)) return 'The address of the recipient is none';
    const { smtpUrl, from } = this.#server;
    const domain = /@([^>\s]+)>?$/.exec(from)?.[1] ?? 'localhost';
    // Loaded only here, because loading it takes a tenth of a node's start and few nodes send mails.
    const { createTransport } = await import('nodemailer');
    // The abort also ends the connection. A mail that the server accepts later counts as failed all the same.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), MAIL_MS_MAX);
    try {
      await createTransport(termsOf(smtpUrl)).sendMail({
        ...{ from, to: { name: '', address: to }, subject, text, messageId: `<${id}@${domain}>` },
        // So that no automatic reply, such as an absence note, comes back (RFC 3834).
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
 * Connects to a mail server, and signs in if the URL has a user. Returns undefined if the server would accept
 * mails, else the reason in words, without the password.
 */
export async function examineMailServer(smtpUrl: string): Promise<string | undefined> {
  // The transport's own `verify` has no deadline: a byte now and then would keep it waiting.
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
    // Contents of mails are never read from files or URLs.
    ...{ disableFileAccess: true, disableUrlAccess: true },
  };
}

/** Returns the server's answer, or else the message of the error. Neither contains the password. */
function wordsOf(error: unknown): string {
  const { response, message } = error as { readonly response?: string; readonly message?: string };
  return response || message || 'The mail could not be sent';
}
