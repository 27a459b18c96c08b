import { adminKey, type TestGateway } from './start-gateway.ts';

/** A call of the admin API, by its path below `/admin/v1`. `Reply`: what the test reads of the answer. */
export async function callAdmin<Reply>(
  gateway: TestGateway,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Reply }> {
  const response = await gateway.fetch(`/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}` },
    ...(body !== undefined && { json: body, method }),
  });
  return { status: response.status, body: (await response.json()) as Reply };
}
