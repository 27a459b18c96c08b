import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A receiver's check by the words of Standard Webhooks, with a plain text as secret. */
export const Webhook = {
  isSigned(headers: IncomingHttpHeaders, body: string, secret: string): boolean {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': given } = headers;
    const digest = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
    return given === `v1,${digest}`;
  },
};
