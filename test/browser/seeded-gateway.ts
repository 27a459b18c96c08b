import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { chances, writePast } from './past.ts';

const secrets = {
  'atlas/production': 'sk-cv-seed-atlas-production',
  'atlas/staging': 'sk-cv-seed-atlas-staging',
  'northwind/crm': 'sk-cv-seed-northwind-crm',
  'lumen/reader': 'sk-cv-seed-lumen-reader',
  'maria.jensen/laptop': 'sk-cv-seed-maria-laptop',
} as const;

export type SeededKey = keyof typeof secrets;

export interface SeededGateway extends TestGateway {
  keys: typeof secrets;
  /** A call of the admin API, `path` below /admin/v1. */
  admin(path: string, init?: { method: string; body?: unknown }): Promise<Response>;
}

/**
 * A gateway of a small company: four providers (the simulator, under names that people know), models, plans, accounts
 * and keys, `days` of the past in its books, and `requests` of just now that went all ways: converted, retried, refused,
 * failed, left.
 */
export async function startSeededGateway(
  t: Pick<TestContext, 'after'>,
  { days = 14, perDay = 220, requests = 40 } = {},
): Promise<SeededGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'culvert-seeded-'));
  await writePast(dataDir, { days, perDay });
  const [openai, claude, groq, local] = await Promise.all([1, 2, 3, 4].map(() => startUpstream()));
  const gateway = await startGateway(
    t,
    configuration({ dataDir, openai: openai!.url, claude: claude!.url, groq: groq!.url, local: local!.url }),
  );
  t.after(async () => {
    await Promise.all([openai, claude, groq, local].map((upstream) => upstream!.close()));
    rmSync(dataDir, { recursive: true, force: true });
  });
  claude!.script('/v1/messages', [
    'ok',
    '2x status=529;message=Overloaded',
    '4x ok',
    'status=429;retry-after=1',
    '6x ok',
    'status=500',
  ]);
  local!.script('*', ['always status=503;message=out of memory']);
  await sendTraffic(gateway, requests);
  return {
    ...gateway,
    keys: secrets,
    admin: (path, { method, body } = { method: 'GET' }) =>
      fetch(`${gateway.url}/admin/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
      }),
  };
}

interface Places {
  dataDir: string;
  openai: string;
  claude: string;
  groq: string;
  local: string;
}

function configuration({ dataDir, openai, claude, groq, local }: Places): Record<string, unknown> {
  const target = (provider: string, model: string, input: number, output: number, priority: number) => ({
    provider,
    model,
    priority,
    price: { input, output },
  });
  return {
    storage: { data_dir: dataDir },
    telemetry: { log: { bodies: ['northwind/crm'] } },
    providers: {
      openai: { type: 'openai', base_url: `${openai}/v1`, api_key: 'upstream-secret-1' },
      claude: { type: 'anthropic', base_url: `${claude}/v1`, api_key: 'upstream-secret-2' },
      groq: { type: 'groq', base_url: `${groq}/v1`, api_key: 'upstream-secret-3' },
      local: { type: 'openai', base_url: `${local}/v1`, api_key: 'upstream-secret-4' },
    },
    models: {
      smart: { targets: [target('claude', 'claude-sonnet-4-5', 3, 15, 1), target('openai', 'gpt-5', 1.25, 10, 2)] },
      cheap: { targets: [target('openai', 'gpt-5-mini', 0.25, 2, 1), target('groq', 'llama-3.3-70b', 0.59, 0.79, 2)] },
      embed: { type: 'embedding', targets: [target('openai', 'text-embedding-3-small', 0.02, 0, 1)] },
      private: { targets: [target('local', 'qwen3-32b', 0, 0, 1)] },
    },
    guards: { pii: { check: 'personal-data', kinds: ['email', 'card'], action: 'mask' } },
    routes: {
      'free-and-long': {
        when: 'plan == "free" && tokens > 8000',
        refuse: { message: 'Long requests need the plan pro.' },
      },
    },
    prompts: {
      reply: {
        versions: {
          1: { messages: [{ role: 'system', content: 'Reply briefly.' }] },
          2: {
            variables: { tone: 'string', words: { type: 'number', default: 50 } },
            model: 'smart',
            parameters: { temperature: 0.3 },
            messages: [{ role: 'system', content: 'Reply in a {{tone}} tone, with at most {{words}} words.' }],
          },
        },
        labels: { production: 1, next: 2 },
      },
    },
    plans: {
      default: { windows: 'off', rpm: 'off' },
      team: { windows: { '5h': 2_000, week: 20_000, month: 60_000 }, rpm: 'off', budget: { month: 250 } },
      trial: { windows: { '5h': 30, week: 80, month: 250 }, rpm: 20, models: ['smart', 'cheap'] },
    },
    accounts: {
      atlas: { plan: 'team' },
      northwind: { plan: 'team' },
      lumen: { plan: 'default' },
      'maria.jensen': { plan: 'trial' },
    },
    keys: Object.entries(secrets).map(([path, key]) => {
      const [account, name] = path.split('/');
      return { key, account, name };
    }),
  };
}

const questions = [
  'Summarise this ticket in two sentences.',
  'Write a friendly reply to a customer whose parcel is late.',
  'Which of these three suppliers is the cheapest over two years?',
  'Translate the notice into Danish.',
  'Explain this stack trace to a beginner.',
] as const;

async function sendTraffic(gateway: TestGateway, requests: number): Promise<void> {
  const chance = chances(11);
  const keys = Object.entries(secrets);
  for (let at = 0; at < requests; at += 1) {
    const [path, key] = keys[Math.floor(chance() * keys.length)]!;
    const model = at % 13 === 5 ? 'private' : at % 5 === 4 ? 'embed' : chance() < 0.6 ? 'smart' : 'cheap';
    const headers: Record<string, string> = {
      authorization: `Bearer ${key}`,
      ...(at % 4 === 0 && { 'x-culvert-session': `refactoring-the-billing-service-${at % 3}` }),
      'x-culvert-tag': path.startsWith('atlas') ? 'checkout' : 'letters',
    };
    const content = questions[at % questions.length];
    const json =
      model === 'embed'
        ? { model, input: [content] }
        : { model, stream: at % 3 > 0, user: `user-${at % 7}`, messages: [{ role: 'user', content }] };
    const answer = await gateway.fetch(model === 'embed' ? '/v1/embeddings' : '/v1/chat/completions', {
      headers,
      json,
    });
    await answer.text();
  }
}
