import { isObject } from '../kernel/json.ts';
import type { Multipart } from './read-multipart.ts';

/**
 * A body for the deployment that Azure's clients name in the path: it is the model, whatever `model` says. What is no
 * object goes as it came, to be refused by whoever parses it.
 */
export function forDeployment(body: Buffer, deployment: string): Buffer {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    return body;
  }
  if (!isObject(value) || value.model === deployment) return body;
  return Buffer.from(JSON.stringify({ ...value, model: deployment }));
}

/** The same for a form. */
export function formForDeployment(form: Multipart, deployment: string): Multipart {
  const fields = form.fields.filter(({ name }) => name !== 'model');
  return {
    fields: [...fields, { name: 'model', value: deployment }],
    files: form.files,
    release: () => form.release(),
  };
}
