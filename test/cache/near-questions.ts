import type { Random } from '../../src/kernel/random.ts';

export const things = 'bread salt corn milk iron glue sand wool wine rope soap lamp'.split(' ');
export const places = ['Oslo', 'Lima', 'Rome', 'Kiel', 'Bonn', 'Nice', 'Graz', 'Bari', 'Vigo', 'Faro'];
export const pick = <T>(random: Random, some: readonly [T, ...T[]] | readonly T[]): T =>
  some[Math.floor(random.next() * some.length)] as T;

/** What others ask the same question about; a near case changes it. */
export interface Topic {
  thing: string;
  place: string;
  question: string;
}

export const topics: readonly Topic[] = Array.from({ length: 12 }, (_, n) => {
  const [thing = '', place = ''] = [things[n % things.length], places[n % places.length]];
  return { thing, place, question: `the price of ${5 + n} kg ${thing} in ${place}` };
});

export const saying = (text: string, more: object = {}) => ({
  messages: [
    { role: 'system', content: 'be good' },
    { role: 'user', content: text },
  ],
  max_tokens: 100,
  ...more,
});

export const oneWord: readonly ((topic: Topic, n: number, random: Random) => string)[] = [
  ({ question }, n) => `${question} in ${1_900 + n}`,
  ({ question }, n) => question.replace(/\d+/, String(50 + n)),
  ({ question }, n) => question.replace('kg', ['lb', 'g', 't', 'mg', 'oz', 'm', 's', 'd'][n % 8] ?? ''),
  ({ question }, n) => question.replace('the price', `the ${['lowest', 'last', 'next', 'worst'][n % 4]} price`),
  ({ question }, n, random) => `${['not', 'never', 'only', 'also'][n % 4]} ${question} ${pick(random, things)}`,
  ({ question, place }, n) => question.replace(place, `${place}${'abcdefgh'[n % 8]}`),
  ({ question }, n) => question.replace('in', ['near', 'outside', 'before', 'without', 'to', 'from'][n % 6] ?? ''),
  ({ question }, n) => `${question} ${['today', 'tomorrow', 'on Monday', 'at 10:30', '- 5', '€', '$'][n % 7]}`,
  ({ question }, n) => question.replace('price', ['prices', 'cost', 'weight', 'history', 'tax'][n % 5] ?? ''),
  ({ question }, n) => `${['how', 'who sets', 'why', 'what is', 'when is', 'can I pay'][n % 6]} ${question} ${n}`,
  ({ question }, n) => `${question} "${n} of it"`,
  ({ question }, n) => `${question} AB-${n}`,
];

/** Each way to change a topic meets each topic and each of its own words. */
export function changedIn(topic: Topic, n: number, random: Random): string {
  const round = Math.floor(n / topics.length);
  return oneWord[(n + round) % oneWord.length]?.(topic, round >> 1, random) ?? '';
}

export const parameters: readonly ((n: number) => object)[] = [
  (n) => ({ temperature: (n + 1) / 1_000 }),
  (n) => ({ top_p: (n + 1) / 1_001 }),
  (n) => ({ seed: n }),
  (n) => ({ n: 2 + (n % 3), seed: n }),
  (n) => ({ stop: [`end ${n}`] }),
  (n) => ({ max_tokens: 101 + n }),
  (n) => ({ response_format: { type: 'json_object' }, seed: n }),
  (n) => ({ tools: [{ type: 'function', function: { name: `find${n}`, parameters: { type: 'object' } } }] }),
  (n) => ({ logit_bias: { [n]: 5 } }),
  (n) => ({ presence_penalty: (n + 1) / 1_001 }),
  (n) => ({ a_field_that_nobody_knows: n }),
  (n) => ({ reasoning_effort: ['low', 'high'][n % 2], seed: n }),
];

export const payload = (text: string) =>
  `You sort questions of visitors of a shop.\n\nQuestion: ${text}\n\nAnswer in one word, and keep to the rules.`;

export const agent = (step: number, text: string) => [
  { role: 'system', content: 'You work in steps.' },
  ...Array.from({ length: step }, (_, at) => [
    { role: 'user', content: 'Go on.' },
    { role: 'assistant', content: `Step ${at} is done.` },
  ]).flat(),
  { role: 'user', content: text },
];

export const picture = (n: number) => Buffer.from(`a picture ${n}`).toString('base64');
