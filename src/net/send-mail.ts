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

/** Rejects with the mail server's words when it did not take the mail. */
export type SendMail = (mail: Mail) => Promise<void>;

const timeoutMs = 10_000;
const timeouts = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs };

/** Sends by the server that is configured at that moment. Loads the package `nodemailer` for the first mail. */
export function createMailer(server: () => MailServer | undefined): SendMail {
  return async ({ to, id, subject, text, attachments = [] }) => {
    const { url, from } = server() ?? notConfigured();
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({ url, ...timeouts });
    try {
      await transport.sendMail({
        from,
        to: [...to],
        messageId: `<${id}@culvert>`,
        subject: `Culvert: ${subject}`,
        text,
        attachments: [...attachments],
      });
    } finally {
      transport.close();
    }
  };
}

function notConfigured(): never {
  throw new Error('server.smtp is not set');
}
