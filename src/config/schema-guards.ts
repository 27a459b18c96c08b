import { z } from 'zod';
import { patternSize } from '../guards/checks/pattern-length.ts';
import { guardedParts, injectionKinds, linkKinds, personalKinds, secretKinds } from '../guards/kinds.ts';
import { name } from './scalars.ts';
import { modelName } from './schema-models.ts';

const kindsOf: Readonly<Record<string, readonly string[]>> = {
  'personal-data': personalKinds,
  secrets: secretKinds,
  links: linkKinds,
  injection: injectionKinds,
};

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
      .enum(['personal-data', 'secrets', 'links', 'injection', 'patterns', 'words'])
      .describe(
        'What it looks for: personal data, keys and passwords, addresses of other hosts, instructions to a model, patterns of yours, or words of yours.',
      ),
    kinds: z
      .array(z.enum([...personalKinds, ...secretKinds, ...linkKinds, ...injectionKinds]))
      .min(1)
      .optional()
      .describe('Kinds that `personal-data`, `secrets`, `links` or `injection` looks for. Default: all.'),
    hosts: z
      .array(z.string().regex(/^[a-z\d-]+(\.[a-z\d-]+)*$/, 'a host is written like docs.example.org, in lower case'))
      .min(1)
      .max(1_000)
      .optional()
      .describe('Hosts that `links` lets pass, each with what is below it. Default: none.'),
    parts: z
      .array(z.enum(guardedParts))
      .min(1)
      .optional()
      .describe(
        'Parts of a request or an answer that it reads. Default: all; for `injection`, results of tools, documents and texts of files.',
      ),
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
  .superRefine(({ check, kinds, hosts, patterns, words, action, route_to }, context) => {
    const issue = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
    const known = kindsOf[check] ?? [];
    kinds?.forEach((kind, index) => {
      if (!known.includes(kind)) issue(['kinds', index], `the check ${check} has no such kind`);
    });
    if (hosts !== undefined && check !== 'links') issue(['hosts'], 'the check links alone has hosts');
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
