import type { Multipart } from './read-multipart.ts';

/** A form for the deployment that Azure's clients name in the path: it is the model, whatever `model` says. */
export function formForDeployment(form: Multipart, deployment: string): Multipart {
  const fields = form.fields.filter(({ name }) => name !== 'model');
  return {
    fields: [...fields, { name: 'model', value: deployment }],
    files: form.files,
    release: () => form.release(),
  };
}
