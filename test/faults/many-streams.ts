import { adminKey, testKey } from '../start-gateway.ts';

/** One stream as its caller sees it: answered to its end, another status than 200, or closed before. */
export type StreamSeen = 'answered' | number | 'closed';

export function streamAtOnce(url: string, streams: number): Promise<StreamSeen[]> {
  return Promise.all(Array.from({ length: streams }, () => stream(url)));
}

async function stream(url: string): Promise<StreamSeen> {
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    const text = await response.text();
    if (response.status !== 200) return response.status;
    return text.includes('[DONE]') ? 'answered' : 'closed';
  } catch {
    return 'closed';
  }
}

/** How the gateway thinks of each credential for each model. */
export async function lanesOf(url: string): Promise<{ state: string; failed: number }[]> {
  const response = await fetch(`${url}/admin/v1/providers`, { headers: { authorization: `Bearer ${adminKey}` } });
  const { data } = (await response.json()) as {
    data: { credentials: { lanes: { state: string; failed: number }[] }[] }[];
  };
  return data.flatMap(({ credentials }) => credentials.flatMap(({ lanes }) => lanes));
}
