import { z } from 'zod';
import { patternSize } from '../../guards/checks/pattern-length.ts';
import * as kinds from '../../guards/kinds.ts';
import { duration, name } from '../scalars.ts';
import { guardMembers, memberIssues } from './schema-guard-members.ts';
import { modelName } from './schema-models.ts';

const kindsOf: Readonly<Record<string, readonly string[]>> = {
  'personal-data': kinds.personalKinds,
  secrets: kinds.secretKinds,
  links: kinds.linkKinds,
  injection: kinds.injectionKinds,
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
      .enum([...kinds.builtInChecks, ...kinds.formChecks, ...kinds.outsideChecks])
      .describe('What it looks for, or the service that it asks. docs/guards.md says what each finds.'),
    kinds: z
      .array(z.enum([...kinds.personalKinds, ...kinds.secretKinds, ...kinds.linkKinds, ...kinds.injectionKinds]))
      .min(1)
      .optional()
      .describe('Kinds that `personal-data`, `secrets`, `links` or `injection` looks for. Default: all.'),
    countries: z
      .array(z.enum(kinds.phoneCountries))
      .min(1)
      .max(10)
      .optional()
      .describe(
        'Countries, by ISO 3166-1, whose phone numbers `personal-data` finds in every valid form, also without separators and country code.',
      ),
    hosts: z
      .array(z.string().regex(/^[a-z\d-]+(\.[a-z\d-]+)*$/, 'a host is written like docs.example.org, in lower case'))
      .min(1)
      .max(1_000)
      .optional()
      .describe('Hosts that `links` lets pass, each with what is below it. Default: none.'),
    languages: z
      .array(z.enum(kinds.knownLanguages))
      .min(1)
      .optional()
      .describe('Languages that `languages` lets pass, by ISO 639-1. Lines in others are findings.'),
    parts: z
      .array(z.enum(kinds.guardedParts))
      .min(1)
      .optional()
      .describe(
        'Parts of a request or an answer that it reads. Default: all; for `injection`, results of tools, documents and texts of files; for `languages`, what users and models say.',
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
    ...guardMembers,
    deadline: duration({ min: '1ms', max: '60s' })
      .prefault('300ms')
      .describe('How long a service outside may take to answer.'),
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
      .describe(
        'What happens where it cannot read a part, such as a picture, or where the service that it asks gives no answer.',
      ),
  })
  .superRefine((guard, context) => {
    const { check, kinds, countries, hosts, languages, patterns, words, action, route_to } = guard;
    const issue = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
    const known = kindsOf[check] ?? [];
    kinds?.forEach((kind, index) => {
      if (!known.includes(kind)) issue(['kinds', index], `the check ${check} has no such kind`);
    });
    if ((check === 'languages') !== (languages !== undefined)) {
      issue(languages === undefined ? ['check'] : ['languages'], 'the check languages and its list need each other');
    }
    if (check === 'languages' && action === 'mask')
      issue(['action'], 'a language has no mask; use block, flag or route');
    if (countries !== undefined && (check !== 'personal-data' || kinds?.includes('phone') === false)) {
      issue(['countries'], 'the check personal-data alone has countries, where it looks for phones');
    }
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
    for (const { path, message } of memberIssues(guard)) issue(path, message);
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
