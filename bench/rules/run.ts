import { configSchema } from '../../src/config/schema.ts';
import { routeRules, tryRule } from '../../src/inference/models/route-rules.ts';
import { classified } from '../../src/inference/spine/steps/classified.ts';
import type { RuleFacts } from '../../src/rules/rule-facts.ts';
import { finish } from '../results.ts';
import { judged, print } from '../rows.ts';

/** 50 rules as operators write them, none of which applies: the longest way. */
const conditions = [
  (at: number) => `plan == "plan-${at}" && tokens > 1000`,
  (at: number) => `headers["x-team"] == "team-${at}"`,
  (at: number) => `headers["x-none-${at}"] == "a"`,
  (at: number) => `model in ["a-${at}", "b-${at}", "c-${at}"] && !stream`,
  (at: number) => `timeOfDay("Europe/Berlin") > "24:00" || account == "a${at}"`,
];
const routes = Object.fromEntries(
  Array.from({ length: 50 }, (_, at) => [`r${at}`, { when: conditions[at % 5]?.(at), tag: 'x' }]),
);
const rules = routeRules(configSchema.parse({ routes }).routes) ?? [];
const headers: Readonly<Record<string, string>> = { 'x-team': 'core', 'user-agent': 'bench' };
const facts: RuleFacts = {
  ...{ endpoint: 'chat', model: 'smart', tag: '', user: 'u', account: 'dev', key: 'dev/k', key_name: 'k', plan: 'pro' },
  ...{ stream: false, tools: true, tokens: 4_000, max_tokens: 0, media: [], atMs: Date.UTC(2026, 0, 1) },
  header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
};
const looked = new Set<never>();

/** The largest rule by examples: ten classes of 100 examples each, with vectors of 1,536 numbers. */
const examples = Array.from({ length: 100 }, (_, at) => `example ${at}`);
const { classify } =
  configSchema.parse({
    routes: {
      auto: {
        classify: {
          embedding_model: 'e',
          classes: Array.from({ length: 10 }, (_, at) => ({ model: `m${at}`, examples })),
        },
      },
    },
  }).routes.auto ?? {};
if (classify === undefined) throw new Error('there is no rule by examples');
let seed = 7;
function vector(): number[] {
  return Array.from({ length: 1_536 }, () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647 - 0.5;
  });
}
const one = [vector()];
const embed = async (_model: string, texts: readonly string[]) => (texts.length === 1 ? one : texts.map(vector));
await classified(classify, 'How do I prove it?', embed);
const byExamples = classify;

/** CPU of one request's rules, in µs, of each round. */
async function cpuUs(times: number, work: () => void | Promise<void>): Promise<number[]> {
  const all = async () => {
    for (let at = 0; at < times; at++) {
      const done = work();
      if (done !== undefined) await done;
    }
  };
  await all();
  const rounds: number[] = [];
  for (let round = 0; round < 5; round++) {
    const before = process.cpuUsage();
    await all();
    const { user, system } = process.cpuUsage(before);
    rounds.push((user + system) / times);
  }
  return rounds;
}

const rows = [
  judged(
    '50 rules, none of which applies',
    await cpuUs(50_000, () => {
      for (const rule of rules) if (tryRule(rule, facts, looked) === 'applies') throw new Error(rule.name);
    }),
    { atMost: 5, unit: ' µs', digits: 2 },
  ),
  judged(
    'a model by 1,000 examples, without the vector of the text',
    await cpuUs(200, async () => {
      const { score } = await classified(byExamples, 'How do I prove it?', embed);
      if (score === null) throw new Error('there is no score');
    }),
    { atMost: 3_000, unit: ' µs', digits: 0 },
  ),
];
print(rows);
finish({
  subject: 'rules',
  command: 'npm run bench -- rules',
  how: 'Conditions of rules for routes over the facts of one request, in one thread, as CPU of a request.',
  rows,
});
