import { configSchema } from '../../src/config/schema.ts';
import { routeRules, tryRule } from '../../src/inference/models/route-rules.ts';
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
const rules = routeRules(configSchema.parse({ routes }).routes)?.all ?? [];
const headers: Readonly<Record<string, string>> = { 'x-team': 'core', 'user-agent': 'bench' };
const facts: RuleFacts = {
  ...{ endpoint: 'chat', model: 'smart', tag: '', user: 'u', account: 'dev', key: 'dev/k', key_name: 'k', plan: 'pro' },
  ...{ stream: false, tools: true, tokens: 4_000, max_tokens: 0, media: [], atMs: Date.UTC(2026, 0, 1) },
  header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
};
const looked = new Set<never>();

/** CPU of one request's rules, in µs, of each round. */
function cpuUs(times: number, work: () => void): number[] {
  for (let at = 0; at < times; at++) work();
  return Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    for (let at = 0; at < times; at++) work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / times;
  });
}

const rows = [
  judged(
    '50 rules, none of which applies',
    cpuUs(50_000, () => {
      for (const rule of rules) if (tryRule(rule, facts, looked) === 'applies') throw new Error(rule.name);
    }),
    { atMost: 5, unit: ' µs', digits: 2 },
  ),
];
print(rows);
finish({
  subject: 'rules',
  command: 'npm run bench -- rules',
  how: 'Conditions of rules for routes over the facts of one request, in one thread, as CPU of a request.',
  rows,
});
