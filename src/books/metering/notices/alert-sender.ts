import type { AlertReceiver, Config } from '../../../config/schema.ts';
import type { Clock } from '../../../kernel/clock.ts';
import type { Post } from '../../../kernel/web/post.ts';
import { webhookHeaders } from '../../../kernel/web/webhook-headers.ts';
import type { SendMail } from '../../../net/send-mail.ts';
import { type AlertMessage, alertNotice, alertSubject, alertText, slackBody, teamsBody } from './alert-message.ts';
import type { AlertRow } from './alert-store.ts';
import type { SendToReceiver } from './notice-delivery.ts';
import { postNotice } from './post-notice.ts';

export interface SenderParts {
  config(): Config;
  post: Post;
  mail: SendMail;
  clock: Clock;
}

const json = { 'content-type': 'application/json' };

/** Sends a message in the receiver's own form. Rejects with why it did not arrive. */
export function createAlertSender({ config, post, mail, clock }: SenderParts): SendToReceiver {
  return async (name, notice) => {
    const receiver = config().telemetry.alerts.to.find((one) => one.name === name);
    if (receiver === undefined) return 'gone';
    const message = JSON.parse(notice.body) as AlertMessage;
    await sent(receiver, notice, message);
    return 'sent';
  };

  async function sent(
    { slack, teams, webhook, secret, email }: AlertReceiver,
    { id, body }: { id: string; body: string },
    message: AlertMessage,
  ): Promise<void> {
    if (email !== undefined) await mail({ to: email, id, subject: alertSubject(message), text: alertText(message) });
    else if (webhook !== undefined)
      await postNotice(post, webhook, webhookHeaders({ id, body }, secret!, clock.wallMs()), body);
    else await postNotice(post, (slack ?? teams)!, json, slack === undefined ? teamsBody(message) : slackBody(message));
  }
}

/** Sends a receiver a message that says it is a test; null when it arrived, else why it did not. */
export function createAlertTest(send: SendToReceiver, clock: Clock): (receiver: string) => Promise<string | null> {
  return async (receiver) => {
    const nowMs = clock.wallMs();
    const text = 'This is a test: alerts from Culvert reach you.';
    const times = { sinceMs: nowMs, seenMs: nowMs, reportedMs: nowMs };
    const test: AlertRow = { name: 'test', severity: 'warning', text, fix: null, reported: 'warning', ...times };
    try {
      await send(receiver, alertNotice(receiver, { raised: [test], resolved: [] }, nowMs));
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
}
