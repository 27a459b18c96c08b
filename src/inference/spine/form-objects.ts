import { dialects } from '../../formats/dialects/dialect-table.ts';
import { objectNotFound } from '../../formats/dialects/named-objects.ts';
import { membersOfForm } from '../../formats/media/form-members.ts';
import type { Failure } from '../../kernel/failure.ts';
import type { UploadedForm } from './form-content.ts';

/**
 * A 404 for a form that names a file or another object at a provider, such as `file_id` or `images[0][file_id]`: fields
 * that Culvert does not know go on to the provider, under the credential of all callers.
 */
export function objectInForm({ fields }: Pick<UploadedForm, 'fields'>): Failure | null {
  const [named] = dialects['openai-chat'].objects.find(membersOfForm(fields));
  return named === undefined ? null : objectNotFound(named.field);
}
