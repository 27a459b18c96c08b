import { z } from 'zod';
import { httpUrl, name, secret } from '../scalars.ts';
import { headersSchema } from './schema-route.ts';

/** Members that a service needs, in addition to those that every one may have. */
const needs = {
  langfuse: ['public_key', 'api_key'],
  datadog: ['api_key'],
  braintrust: ['api_key', 'project'],
  arize: ['api_key', 'space', 'project'],
  mlflow: ['url', 'experiment'],
  wandb: ['api_key', 'entity', 'project'],
  helicone: ['api_key'],
} as const;

type Service = keyof typeof needs;

const may: Readonly<Record<Service, readonly string[]>> = {
  langfuse: [],
  datadog: ['site'],
  braintrust: [],
  arize: [],
  mlflow: ['api_key'],
  wandb: [],
  helicone: [],
};

const shared = ['type', 'name', 'url', 'headers'];
const word = (description: string) => z.string().min(1).max(256).optional().describe(description);

const loggerSchema = z
  .strictObject({
    type: z.enum(Object.keys(needs) as [Service, ...Service[]]).describe('The service.'),
    name: name('a logger').optional().describe('Name for the log. Default: the type.'),
    url: httpUrl()
      .optional()
      .describe('Base URL of an own installation. `mlflow` needs it. Default: that of the service.'),
    api_key: secret().optional().describe('API key. Of `langfuse` the secret key, of `mlflow` a bearer token.'),
    public_key: word('Public key of `langfuse`.'),
    project: word('Project of `braintrust`, `arize` or `wandb`.'),
    space: word('Space of `arize`, by its id.'),
    entity: word('Team or user of `wandb`.'),
    experiment: word('Experiment of `mlflow`, by its id.'),
    site: word('Site of `datadog`. Default: datadoghq.com.').meta({ mark: 'address' }),
    headers: headersSchema('Further headers, in place of those of the service where they have the same name.'),
  })
  .superRefine((logger, context) => {
    const { type } = logger;
    const given = Object.entries(logger).flatMap(([member, value]) => (value === undefined ? [] : [member]));
    for (const member of needs[type])
      if (!given.includes(member)) context.addIssue({ code: 'custom', path: [member], message: `${type} needs it` });
    const known: readonly string[] = [...shared, ...needs[type], ...may[type]];
    for (const member of given)
      if (!known.includes(member))
        context.addIssue({ code: 'custom', path: [member], message: `${type} has no such setting` });
  });

export const loggersSchema = z
  .array(loggerSchema)
  .max(10)
  .default([])
  .describe('Services that get the traces, each by its own form. Read at the start.');
