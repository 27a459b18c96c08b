import { createHmac } from 'node:crypto';
import { webhookKey } from './webhook-key.ts';

/**
 * Headers of one try to send a message, as Standard Webhooks has them: the signature covers id, time and body. The time is
 * that of the try, so that a receiver can refuse old ones. Throws for a secret that is too short to sign with.
 */
export function webhookHeaders(
  { id, body }: { id: string; body: string },
  secret: string,
  nowMs: number,
): Record<string, string> {
  const key = webhookKey(secret);
  if (key === null) throw new Error('the secret of the webhook is too short to sign with');
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}
