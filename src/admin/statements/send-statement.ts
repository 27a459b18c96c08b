import type { SenderParts } from '../../books/metering/notices/alert-sender.ts';
import type { Notice } from '../../books/metering/notices/notice-store.ts';
import { postNotice } from '../../books/metering/notices/post-notice.ts';
import { webhookHeaders } from '../../kernel/web/webhook-headers.ts';
import { statementCsv } from './statement-csv.ts';
import { type StatementMessage, statementSubject, statementText } from './statement-message.ts';
import { statementPage } from './statement-page.ts';

/** Sends a queued statement by mail or to a webhook; rejects with why it did not arrive. `gone`: no such receiver. */
export async function sendStatement(
  { config, post, mail, clock }: SenderParts,
  name: string,
  notice: Notice,
): Promise<'sent' | 'gone'> {
  const receiver = config().telemetry.statements.to.find((one) => one.name === name);
  if (receiver === undefined) return 'gone';
  const { email, webhook, secret } = receiver;
  if (email === undefined) {
    await postNotice(post, webhook!, webhookHeaders(notice, secret!, clock.wallMs()), notice.body);
    return 'sent';
  }
  const message = JSON.parse(notice.body) as StatementMessage;
  const filename = `statement-${message.data.month}`;
  await mail({
    to: email,
    id: notice.id,
    subject: statementSubject(message),
    text: statementText(message),
    attachments: [
      { filename: `${filename}.csv`, contentType: 'text/csv', content: statementCsv(message.data) },
      { filename: `${filename}.html`, contentType: 'text/html', content: statementPage(message.data) },
    ],
  });
  return 'sent';
}
