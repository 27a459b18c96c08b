/** A service that takes traces, and what proves who sends them. */
export interface NamedLogger {
  type: 'langfuse' | 'datadog' | 'braintrust' | 'arize' | 'mlflow' | 'wandb' | 'helicone';
  name?: string | undefined;
  url?: string | undefined;
  api_key?: string | undefined;
  public_key?: string | undefined;
  project?: string | undefined;
  space?: string | undefined;
  entity?: string | undefined;
  experiment?: string | undefined;
  site?: string | undefined;
  headers: Readonly<Record<string, string>>;
}

/** How a service takes spans over HTTP. */
export interface LoggerForm {
  name: string;
  /** `helicone`: a log for each call of a model, in its JSON. */
  takes: 'otlp' | 'helicone';
  /** Whole address of its traces. */
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Attributes of the resource by which it sorts them. */
  resource: Readonly<Record<string, string>>;
}

/** Each service's own form, as its documentation has it in November 2026. */
export function loggerForm(logger: NamedLogger): LoggerForm {
  const { type, name = type, api_key: key = '', project = '' } = logger;
  const { base, headers, resource = {} } = forms[type](logger, key, project);
  const url = `${(logger.url ?? base).replace(/\/+$/, '')}${paths[type]}`;
  const takes = type === 'helicone' ? 'helicone' : 'otlp';
  return { name, takes, url, headers: { ...headers, ...logger.headers }, resource };
}

interface Form {
  base: string;
  headers: Readonly<Record<string, string>>;
  resource?: Readonly<Record<string, string>>;
}

const paths: Readonly<Record<NamedLogger['type'], string>> = {
  langfuse: '/api/public/otel/v1/traces',
  datadog: '/v1/traces',
  braintrust: '/otel/v1/traces',
  arize: '/v1/traces',
  mlflow: '/v1/traces',
  wandb: '/otel/v1/traces',
  helicone: '/custom/v1/log',
};

const forms: Readonly<Record<NamedLogger['type'], (logger: NamedLogger, key: string, project: string) => Form>> = {
  langfuse: ({ public_key: user = '' }, key) => ({
    base: 'https://cloud.langfuse.com',
    headers: {
      authorization: `Basic ${Buffer.from(`${user}:${key}`).toString('base64')}`,
      'x-langfuse-ingestion-version': '4',
    },
  }),
  datadog: ({ site = 'datadoghq.com' }, key) => ({
    base: `https://otlp.${site}`,
    headers: { 'dd-api-key': key, 'dd-otlp-source': 'datadog' },
  }),
  braintrust: (_logger, key, project) => ({
    base: 'https://api.braintrust.dev',
    headers: { authorization: `Bearer ${key}`, 'x-bt-parent': `project_name:${project}` },
  }),
  arize: ({ space = '' }, key, project) => ({
    base: 'https://otlp.arize.com',
    headers: { space_id: space, api_key: key },
    resource: { 'openinference.project.name': project, model_id: project },
  }),
  mlflow: ({ experiment = '' }, key) => ({
    base: '',
    headers: { 'x-mlflow-experiment-id': experiment, ...(key !== '' && { authorization: `Bearer ${key}` }) },
  }),
  wandb: ({ entity = '' }, key, project) => ({
    base: 'https://trace.wandb.ai',
    headers: { 'wandb-api-key': key, project_id: `${entity}/${project}` },
    resource: { 'wandb.entity': entity, 'wandb.project': project },
  }),
  helicone: (_logger, key) => ({ base: 'https://api.worker.helicone.ai', headers: { authorization: `Bearer ${key}` } }),
};
