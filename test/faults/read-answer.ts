import type { TestGateway } from '../start-gateway.ts';

export interface StreamChunk {
  choices?: {
    index: number;
    delta: { role?: string; content?: string | null; tool_calls?: unknown[] };
    finish_reason: string | null;
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  error?: { message: string; type: string; code: number };
}

/** A caller's reading of a stream. */
export interface StreamSeen {
  chunks: StreamChunk[];
  text: string;
  roles: number;
  finishes: number;
  dones: number;
  error: StreamChunk['error'] | null;
}

export function readStream(body: string): StreamSeen {
  const datas = body
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => event.slice(6));
  const chunks = datas.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as StreamChunk);
  const choices = chunks.flatMap((chunk) => chunk.choices ?? []);
  return {
    chunks,
    text: choices.map((choice) => choice.delta.content ?? '').join(''),
    roles: choices.filter((choice) => choice.delta.role !== undefined).length,
    finishes: choices.filter((choice) => choice.finish_reason !== null).length,
    dones: datas.filter((data) => data === '[DONE]').length,
    error: chunks.find((chunk) => chunk.error !== undefined)?.error ?? null,
  };
}

/** `GET /v1/requests/{id}`, as far as tests look at it. */
export interface Explained {
  status: number;
  class: string;
  target: string | null;
  aborted: boolean;
  units: number;
  cost_usd: number | null;
  usage: { input_tokens: number; output_tokens: number; source: string };
  route: {
    verdicts: { target: string; verdict: string }[];
    attempts: {
      provider: string;
      class: string;
      status: number | null;
      startMs: number | null;
      ms: number;
      usageSource: string;
      message: string | null;
    }[];
  };
}

export async function explained(gateway: TestGateway, response: Response): Promise<Explained> {
  const id = response.headers.get('x-culvert-request-id');
  return (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as Explained;
}
