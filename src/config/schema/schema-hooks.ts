import { z } from 'zod';
import { hookNames } from '../../hooks/hook-names.ts';
import { secretHeaders } from '../../rules/rule-facts.ts';
import { duration, httpUrl, name, size, someText, webhookSecret } from '../scalars.ts';
import { modelName } from './schema-models.ts';

const headerName = z
  .string()
  .regex(/^[a-z\d-]{1,64}$/, 'a header is written in lower case, such as x-team')
  .refine((header) => !secretHeaders.has(header), 'this header proves who the caller is, and no hook sees it');

const names = (of: string, schema: z.ZodType<string>) =>
  z.array(schema).min(1).optional().describe(`Only requests of these ${of}. Default: all.`);

export const hookSchema = z
  .strictObject({
    type: z
      .enum(['module', 'webhook'])
      .default('module')
      .describe('Code that runs in a thread of this server, or a service that gets signed requests.'),
    module: someText(4_096)
      .optional()
      .describe(
        'File or folder of a `module`, relative to this file, such as `./hooks/team.ts`, or the name of an installed package.',
      ),
    url: httpUrl().optional().describe('Address of a `webhook`.'),
    secret: webhookSecret().optional().describe('Signs the requests of a `webhook` as Standard Webhooks does.'),
    events: z.array(z.enum(hookNames)).min(1).optional().describe('Functions that a `webhook` has.'),
    deadline: duration({ min: '1ms', max: '60s' }).prefault('200ms').describe('How long one call may take.'),
    memory: size({ max: '4gb' }).prefault('64mb').describe('Memory of the objects of a `module`.'),
    on_error: z
      .enum(['deny', 'allow'])
      .default('deny')
      .describe(
        'What becomes of a request when its hook cannot be loaded, hangs, throws or replies with nonsense: it is refused, or goes on as it is.',
      ),
    settings: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ mark: 'body' })
      .describe('Values that the hook gets.'),
    headers: z.array(headerName).max(64).default([]).describe("Callers' headers that the hook sees."),
    env: z
      .array(z.string().regex(/^\w{1,128}$/))
      .max(64)
      .default([])
      .describe('Variables of the environment that a `module` sees. It sees no others.'),
    models: names('models', modelName),
    plans: names('plans', name("a plan's name")),
    accounts: names('accounts', name("an account's name")),
  })
  .superRefine(({ type, module, url, secret, events, env }, context) => {
    const issue = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    const isModule = type === 'module';
    if (isModule && module === undefined) issue('module', 'name the file, the folder or the package of its code');
    if (!isModule && url === undefined) issue('url', 'give the address of the webhook');
    if (!isModule && secret === undefined) issue('secret', 'give a secret that signs its requests');
    if (!isModule && events === undefined) issue('events', 'list the functions that it has');
    if (!isModule && module !== undefined) issue('module', 'a webhook has no module');
    if (!isModule && env.length > 0) issue('env', 'a webhook sees no variables');
    if (isModule && url !== undefined) issue('url', 'a module has no address');
    if (isModule && secret !== undefined) issue('secret', 'a module signs nothing');
    if (isModule && events !== undefined) issue('events', 'the functions of a module are those that it exports');
    if (events?.includes('onAnswer') === true && events.includes('onEvent'))
      issue('events', 'onAnswer holds streams to their end: keep onAnswer or onEvent');
  });

export const hooksSchema = z
  .record(name("a hook's name"), hookSchema)
  .default({})
  .describe('Code of your own over requests and answers, in this order, before the guards.');
