import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

interface Described {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>
  >;
}

type ReplyCheck = (method: string, path: string, status: number, json: unknown) => void;

let known: ReplyCheck | null = null;

/**
 * Asserts that answers are what the OpenAPI document says of them. It is the same for every configuration, so all tests of a
 * process share the checks that are made of it.
 */
export function replyCheck(document: () => unknown): ReplyCheck {
  known ??= createReplyCheck(document());
  return known;
}

function createReplyCheck(document: unknown): ReplyCheck {
  const { paths } = document as Described;
  const ajv = new Ajv2020({ strict: false });
  const compiled = new Map<string, ValidateFunction>();
  const forms = Object.keys(paths).map((path) => ({
    path,
    form: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }));
  return (method, path, status, json) => {
    const found = forms.filter(({ form }) => form.test(`/admin/v1${path}`));
    // For `/requests/{id}` and a literal path, the literal one counts.
    const { path: template } = found.find((each) => !each.path.includes('{')) ?? found[0] ?? {};
    assert.ok(template !== undefined, `${path} is not described`);
    const { schema } = paths[template]?.[method.toLowerCase()]?.responses[status]?.content?.['application/json'] ?? {};
    assert.ok(schema !== undefined, `${method} ${template} answers ${status}, which is not described`);
    const key = `${method} ${template}`;
    const validate = compiled.get(key) ?? ajv.compile(schema);
    compiled.set(key, validate);
    assert.ok(validate(json), `${key}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(json).slice(0, 500)}`);
  };
}
