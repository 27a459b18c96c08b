import { withoutSecrets } from '../kernel/secret-spellings.ts';

/** Mail server, as `server.smtp` names it. */
export interface MailServer {
  url: string;
  /** Sender, such as `Culvert <culvert@example.org>`. */
  from: string;
}

export interface Mail {
  to: readonly string[];
  subject: string;
  text: string;
  /** The same at every try: a mail that came twice is shown once. */
  id: string;
  attachments?: readonly { filename: string; contentType: string; content: string }[];
}

/** Rejects with the mail server's words, without the password, when it did not take the mail in time. */
export type SendMail = (mail: Mail) => Promise<void>;

/** For a whole mail: a server that answers each command slowly would hold it without end. */
const mailTimeoutMs = 15_000;
const timeoutMs = 10_000;
const timeouts = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs };
/** Longest reason of a mail server that is passed on. */
const reasonCharsMax = 500;

/** Sends by the server that is configured at that moment. Loads the package `nodemailer` for the first mail. */
export function createMailer(server: () => MailServer | undefined): SendMail {
  return async ({ to, id, subject, text, attachments = [] }) => {
    const { url, from } = server() ?? notConfigured();
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({ url, ...timeouts });
    const late = AbortSignal.timeout(mailTimeoutMs);
    const ended = ending(late);
    const sending = transport.sendMail({
      from,
      to: [...to],
      messageId: `<${id}@culvert>`,
      subject: `Culvert: ${subject}`,
      text,
      attachments: [...attachments],
      signal: late,
    });
    try {
      await Promise.race([ended, sending]);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(withoutSecrets(reason, secretsOf(url)).slice(0, reasonCharsMax));
    } finally {
      transport.close();
    }
  };
}

/** Rejects when `late` is aborted: earlier versions of nodemailer do not know signals. */
function ending(late: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = () => reject(new Error(`the mail server took more than ${mailTimeoutMs / 1_000} s`));
    late.addEventListener('abort', give, { once: true });
  });
}

/** The password of a mail server, as it is and as SMTP sends it: short ones have no other spelling. */
function secretsOf(smtpUrl: string): string[] {
  const url = new URL(smtpUrl);
  const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  if (password === '') return [];
  return [`\0${user}\0${password}`, Buffer.from(password).toString('base64'), password];
}

function notConfigured(): never {
  throw new Error('server.smtp is not set');
}
