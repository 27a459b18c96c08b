import type { AdminApi } from '../admin/admin-api.ts';
import { createAlertSender, type SenderParts } from '../books/metering/notices/alert-sender.ts';
import type { AlertStore } from '../books/metering/notices/alert-store.ts';
import { createAlerts } from '../books/metering/notices/alerts.ts';
import type { DeliveryParts } from '../books/metering/notices/notice-delivery.ts';
import type { NoticeStore } from '../books/metering/notices/notice-store.ts';
import type { Notices } from '../books/metering/notices/notices.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import { installCommand, isInstalled } from '../kernel/optional-package.ts';
import type { Signer } from '../kernel/sign.ts';
import { createMailer, type SendMail } from '../net/send-mail.ts';
import { StartRefused } from '../processes/lifetime.ts';

const statementLookMs = 60_000;

/** Refuses a start whose mails nobody could send. */
export function checkMail({ server }: Config): void {
  if (server.smtp === undefined || isInstalled('nodemailer')) return;
  throw new StartRefused(`server.smtp needs the package nodemailer. Run ${installCommand('nodemailer')}`);
}

/** How mails and queued messages reach their receivers. What only statements need is loaded for the first one. */
export function openSenders(parts: Omit<SenderParts, 'mail'>): { mail: SendMail; send: DeliveryParts['send'] } {
  const mail = createMailer(() => parts.config().server.smtp);
  const all = { ...parts, mail };
  const statement: DeliveryParts['send']['statement'] = async (receiver, notice) => {
    const { sendStatement } = await import('../admin/statements/send-statement.ts');
    return sendStatement(all, receiver, notice);
  };
  return { mail, send: { alerts: createAlertSender(all), statement } };
}

interface ReportParts {
  stores: { alerts: AlertStore; notices: NoticeStore };
  admin: () => Promise<AdminApi>;
  config: () => Config;
  clock: Clock;
  notices: Pick<Notices, 'deliver'>;
  send: DeliveryParts['send'];
  signer: Signer;
  onTrouble(message: string): void;
  opened(close: () => Promise<void> | void): void;
}

/** Checks for alerts and for months that are over, from now on. */
export function openReports(parts: ReportParts): void {
  const alerts = createAlerts({
    ...parts,
    store: parts.stores.alerts,
    send: parts.send.alerts,
    onQueued: parts.notices.deliver,
    // By the same rules as the overview and the doctor.
    look: async () => (await parts.admin()).alerts(),
    settings() {
      const { to, every, quiet } = parts.config().telemetry.alerts;
      return { receivers: to.map(({ name }) => name), everyMs: every, quietMs: quiet };
    },
  });
  alerts.start();
  parts.opened(alerts.stop);
  openStatements(parts);
}

/** Queues the statement of each month that is over, where the configuration names receivers. */
function openStatements({ stores, admin, config, clock, notices, onTrouble, opened }: ReportParts): void {
  let looking: Promise<void> | null = null;
  let inTrouble = false;
  async function look(): Promise<void> {
    const settings = config().telemetry.statements;
    if (settings.to.length === 0) return;
    try {
      const { queueStatements } = await import('../admin/statements/queue-statements.ts');
      const queued = await queueStatements({ api: await admin(), store: stores.notices, settings, clock });
      if (queued > 0) notices.deliver();
      inTrouble = false;
    } catch (error) {
      if (!inTrouble) onTrouble(`statements cannot be sent: ${String(error)}`);
      inTrouble = true;
    }
  }
  function begin(): void {
    looking ??= look().finally(() => {
      looking = null;
    });
  }
  begin();
  const stop = every(statementLookMs, begin);
  opened(async () => {
    stop();
    await looking;
  });
}
