import type { AdminApi } from '../admin/admin-api.ts';
import { type AlertMessage, alertNotice, alertSubject, alertText, slackBody } from '../books/metering/alert-message.ts';
import type { AlertRow, AlertStore } from '../books/metering/alert-store.ts';
import { createAlerts } from '../books/metering/alerts.ts';
import type { SendAlert } from '../books/metering/notice-delivery.ts';
import type { Notices } from '../books/metering/notices.ts';
import type { AlertReceiver, Config } from '../config/schema.ts';
import type { Clock } from '../kernel/clock.ts';
import { installCommand, isInstalled } from '../kernel/optional-package.ts';
import type { Signer } from '../kernel/sign.ts';
import { webhookHeaders } from '../kernel/webhook-headers.ts';
import { StartRefused } from '../processes/lifetime.ts';
import type { PostWebhook } from '../upstream/transport/post-webhook.ts';

const sendTimeoutMs = 10_000;
const mailTimeouts = { connectionTimeout: sendTimeoutMs, greetingTimeout: sendTimeoutMs, socketTimeout: sendTimeoutMs };

/** Checks for alerts from now on, by the same rules as the overview and the doctor. */
export function openAlerts(parts: {
  store: AlertStore;
  admin: () => Promise<AdminApi>;
  config: () => Config;
  clock: Clock;
  notices: Pick<Notices, 'deliver'>;
  sendAlert: SendAlert;
  signer: Signer;
  onTrouble(message: string): void;
  opened(close: () => Promise<void> | void): void;
}): void {
  const alerts = createAlerts({
    ...parts,
    send: parts.sendAlert,
    onQueued: parts.notices.deliver,
    look: async () => (await parts.admin()).alerts(),
    settings() {
      const { to, every, quiet } = parts.config().telemetry.alerts;
      return { receivers: to.map(({ name }) => name), everyMs: every, quietMs: quiet };
    },
  });
  alerts.start();
  parts.opened(alerts.stop);
}

/** Refuses a start whose mails nobody could send. */
export function checkMail({ telemetry }: Config): void {
  if (telemetry.alerts.smtp === undefined || isInstalled('nodemailer')) return;
  throw new StartRefused(`telemetry.alerts.smtp needs the package nodemailer. Run ${installCommand('nodemailer')}`);
}

/** Sends a message in the receiver's own form. Rejects with why it did not arrive. */
export function createAlertSender(config: () => Config, post: PostWebhook, clock: Clock): SendAlert {
  return async (name, { id, body }) => {
    const { to, smtp } = config().telemetry.alerts;
    const receiver = to.find((one) => one.name === name);
    if (receiver === undefined) return 'gone';
    const message = JSON.parse(body) as AlertMessage;
    if (receiver.email !== undefined) await mail(receiver.email, smtp!, id, message);
    else await posted(receiver, id, body, message);
    return 'sent';
  };

  async function posted(receiver: AlertReceiver, id: string, body: string, message: AlertMessage): Promise<void> {
    const { slack, webhook, secret } = receiver;
    const status =
      slack === undefined
        ? await post(webhook!, webhookHeaders({ id, body }, secret!, clock.wallMs()), body, sendTimeoutMs)
        : await post(slack, { 'content-type': 'application/json' }, slackBody(message), sendTimeoutMs);
    // The path of a webhook is often a secret.
    if (status < 200 || status > 299) throw new Error(`${new URL((slack ?? webhook)!).host} answered ${status}`);
  }
}

/** Sends a receiver a message that says it is a test; null when it arrived, else why it did not. */
export function createAlertTest(send: SendAlert, clock: Clock): (receiver: string) => Promise<string | null> {
  return async (receiver) => {
    const nowMs = clock.wallMs();
    const text = 'This is a test: alerts of Culvert reach you.';
    const times = { sinceMs: nowMs, seenMs: nowMs, toldMs: nowMs };
    const test: AlertRow = { name: 'test', severity: 'warning', text, fix: null, told: 'warning', ...times };
    try {
      await send(receiver, alertNotice(receiver, { raised: [test], resolved: [] }, nowMs));
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
}

async function mail(
  to: readonly string[],
  { url, from }: NonNullable<Config['telemetry']['alerts']['smtp']>,
  id: string,
  message: AlertMessage,
): Promise<void> {
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({ url, ...mailTimeouts });
  try {
    await transport.sendMail({
      from,
      to: [...to],
      // The same at every try: a mail that came twice is shown once.
      messageId: `<${id}@culvert>`,
      subject: `Culvert: ${alertSubject(message)}`,
      text: alertText(message),
    });
  } finally {
    transport.close();
  }
}
