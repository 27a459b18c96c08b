import { z } from 'zod';
import { patternSize } from '../guards/checks/pattern-length.ts';
import { personalKinds, secretKinds } from '../guards/kinds.ts';
import { name } from './scalars.ts';
import { modelName } from './schema-models.ts';

const kindsOf = { 'personal-data': personalKinds, secrets: secretKinds } as const;

const patternSchema = z
  .string()
  .min(1)
  .max(1_000)
  .superRefine((pattern, context) => {
    const size = patternSize(pattern);
    if ('why' in size) context.addIssue({ code: 'custom', message: size.why });
  });

export const guardSchema = z
  .strictObject({
    check: z
      .enum(['personal-data', 'secrets', 'patterns', 'words'])
      .describe('What it looks for: personal data, keys and passwords, patterns of yours, or words of yours.'),
    kinds: z
      .array(z.enum([...personalKinds, ...secretKinds]))
      .min(1)
      .optional()
      .describe('Kinds that `personal-data` or `secrets` looks for. Default: all.'),
    patterns: z
      .array(patternSchema)
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'Regular expressions for `patterns`. Each repetition needs a bound, such as {1,40}; `(?i)` ignores case.',
      ),
    words: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(10_000)
      .optional()
      .describe('Words and phrases for `words`, in any case.'),
    action: z
      .enum(['block', 'mask', 'flag', 'route'])
      .describe(
        'What it does with a finding: refuse, put a word such as `<EMAIL_1>` in its place, only say so, or ask another model.',
      ),
    route_to: modelName.optional().describe('The alias that `route` asks.'),
    on: z
      .array(z.enum(['input', 'output']))
      .min(1)
      .default(['input', 'output'])
      .describe('Whether it reads requests, answers or both. `route` reads requests alone.'),
    mode: z
      .enum(['enforce', 'observe'])
      .default('enforce')
      .describe('`observe` changes nothing and says what it would do.'),
    on_error: z
      .enum(['deny', 'allow'])
      .default('deny')
      .describe('What happens to a request of which it cannot read a part, such as a picture.'),
  })
  .superRefine(({ check, kinds, patterns, words, action, route_to }, context) => {
    const issue = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
    const known: readonly string[] = check === 'patterns' || check === 'words' ? [] : kindsOf[check];
    kinds?.forEach((kind, index) => {
      if (!known.includes(kind)) issue(['kinds', index], `the check ${check} has no such kind`);
    });
    if ((check === 'patterns') !== (patterns !== undefined)) {
      issue(
        patterns === undefined ? ['check'] : ['patterns'],
        'the check patterns and the list patterns need each other',
      );
    }
    if ((check === 'words') !== (words !== undefined)) {
      issue(words === undefined ? ['check'] : ['words'], 'the check words and the list words need each other');
    }
    if ((action === 'route') !== (route_to !== undefined)) {
      issue(route_to === undefined ? ['action'] : ['route_to'], 'the action route and route_to need each other');
    }
  });

export const guardsSchema = z
  .record(name("a guard's name"), guardSchema)
  .default({})
  .describe(
    'Guards: what requests and answers are looked through for. Models, plans and `server` name those they have.',
  );
