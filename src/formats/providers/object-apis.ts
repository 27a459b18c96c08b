/** APIs of OpenAI whose objects stay at the provider, by the names that `object_apis` has for them. */
export const objectApis = ['chat_completions', 'containers', 'evals', 'fine_tuning', 'skills'] as const;

export type ObjectApi = (typeof objectApis)[number];

export interface ObjectOperation {
  api: ObjectApi;
  method: 'GET' | 'POST' | 'DELETE';
  /** find-my-way's pattern below the API's root, such as `/evals/:id/runs`. `:id` is the object that its owner was given. */
  path: string;
  /**
   * `object`: one of the caller's objects. `list`: all that the account has there, of whichever caller. `part`: a part of
   * the object in the path, so it belongs to the same caller.
   */
  answers: 'object' | 'list' | 'part';
  /** Short description for /openapi.json. */
  summary: string;
  /** Members of its body for /openapi.json; the provider checks them. */
  fields: readonly string[];
}

/** Roots of the APIs, and their operations below: `METHOD path` → summary, and the members of a body. */
const table: Readonly<
  Record<ObjectApi, { root: string; operations: Readonly<Record<string, string | [summary: string, ...string[]]>> }>
> = {
  chat_completions: {
    root: '/chat/completions',
    operations: {
      'GET ': 'List your chat completions that the provider has stored',
      'GET /:id': 'A stored chat completion',
      'POST /:id': ['Change the metadata of a stored chat completion', 'metadata'],
      'DELETE /:id': 'Delete a stored chat completion',
      'GET /:id/messages': 'The messages of a stored chat completion',
    },
  },
  containers: {
    root: '/containers',
    operations: {
      'POST ': ['Make a container for the code interpreter', 'name', 'file_ids', 'expires_after', 'memory_limit'],
      'GET ': 'List your containers',
      'GET /:id': 'A container',
      'DELETE /:id': 'Delete a container',
      'POST /:id/files': ['Put a file into a container', 'file', 'file_id'],
      'GET /:id/files': 'List the files of a container',
      'GET /:id/files/:file': 'A file of a container',
      'DELETE /:id/files/:file': 'Delete a file of a container',
      'GET /:id/files/:file/content': 'Download a file of a container',
    },
  },
  evals: {
    root: '/evals',
    operations: {
      'POST ': ['Make an eval', 'name', 'data_source_config', 'testing_criteria', 'metadata'],
      'GET ': 'List your evals',
      'GET /:id': 'An eval',
      'POST /:id': ['Change an eval', 'name', 'metadata'],
      'DELETE /:id': 'Delete an eval',
      'POST /:id/runs': ['Run an eval', 'name', 'data_source', 'metadata'],
      'GET /:id/runs': 'List the runs of an eval',
      'GET /:id/runs/:run': 'A run of an eval',
      'POST /:id/runs/:run': ['Cancel a run of an eval', 'metadata'],
      'DELETE /:id/runs/:run': 'Delete a run of an eval',
      'GET /:id/runs/:run/output_items': 'List the results of a run',
      'GET /:id/runs/:run/output_items/:item': 'A result of a run',
    },
  },
  fine_tuning: {
    root: '/fine_tuning/jobs',
    operations: {
      'POST ': [
        'Begin to fine-tune a model',
        'model',
        'training_file',
        'validation_file',
        'method',
        'suffix',
        'seed',
        'metadata',
      ],
      'GET ': 'List your fine-tuning jobs',
      'GET /:id': 'A fine-tuning job',
      'POST /:id/cancel': ['Cancel a fine-tuning job', 'metadata'],
      'POST /:id/pause': ['Pause a fine-tuning job', 'metadata'],
      'POST /:id/resume': ['Resume a fine-tuning job', 'metadata'],
      'GET /:id/events': 'List what happened in a fine-tuning job',
      'GET /:id/checkpoints': 'List the checkpoints of a fine-tuning job',
    },
  },
  skills: {
    root: '/skills',
    operations: {
      'POST ': ['Make a skill', 'files'],
      'GET ': 'List your skills',
      'GET /:id': 'A skill',
      'POST /:id': ['Change the default version of a skill', 'default_version'],
      'DELETE /:id': 'Delete a skill',
      'GET /:id/content': 'Download a skill',
      'POST /:id/versions': ['Make a version of a skill', 'files', 'default'],
      'GET /:id/versions': 'List the versions of a skill',
      'GET /:id/versions/:version': 'A version of a skill',
      'DELETE /:id/versions/:version': 'Delete a version of a skill',
      'GET /:id/versions/:version/content': 'Download a version of a skill',
    },
  },
};

export const objectOperations: readonly ObjectOperation[] = objectApis.flatMap((api) => {
  const { root, operations } = table[api];
  return Object.entries(operations).map(([operation, described]): ObjectOperation => {
    const [method, below = ''] = operation.split(' ') as [ObjectOperation['method'], string];
    const [summary, ...fields] = typeof described === 'string' ? [described] : described;
    const isList = below === '' && method === 'GET';
    const isObject = (below === '' || below === '/:id') && method !== 'DELETE';
    return {
      api,
      method,
      path: root + below,
      answers: isList ? 'list' : isObject ? 'object' : 'part',
      summary,
      fields,
    };
  });
});
