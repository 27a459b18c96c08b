import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const text = z.record(z.string(), z.string());
const time = z.strictObject({ seconds: z.int(), milliseconds: z.int().min(0).max(999) });

/** `HeliconeAsyncLogRequest` of Helicone's documentation of manual logging, as far as calls of models fill it. */
export const heliconeForm = z.strictObject({
  providerRequest: z.strictObject({
    url: z.literal('custom-model-nopath'),
    json: z.strictObject({
      model: z.string().min(1),
      stream: z.boolean().optional(),
      messages: z.array(z.strictObject({ role: z.string(), content: z.string() })).optional(),
    }),
    meta: text,
  }),
  providerResponse: z.strictObject({
    headers: text,
    status: z.int(),
    json: z.looseObject({
      choices: z
        .array(
          z.strictObject({
            index: z.int(),
            message: z.strictObject({ role: z.string(), content: z.string() }),
            finish_reason: z.string().nullable(),
          }),
        )
        .optional(),
      usage: z.strictObject({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() }).optional(),
    }),
  }),
  timing: z.strictObject({ startTime: time, endTime: time, timeToFirstToken: z.int().optional() }),
});

/** A receiver of one JSON log a request, as Helicone is one. */
export async function startLogReceiver(t: { after(fn: () => Promise<void>): void }) {
  const logs: { path: string | undefined; authorization: string | undefined; body: unknown }[] = [];
  let status = 200;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    response.writeHead(status).end();
    if (status !== 200) return;
    const { authorization } = request.headers;
    logs.push({ path: request.url, authorization, body: JSON.parse(Buffer.concat(chunks).toString()) });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    logs,
    /** Answers with this status from now on. */
    answer: (next: number) => {
      status = next;
    },
  };
}
