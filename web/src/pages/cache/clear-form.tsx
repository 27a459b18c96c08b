import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { CacheClearedReply } from '../../../../src/admin/cache.ts';
import { models } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Checks, Input } from '../../parts/controls.tsx';
import { plural } from '../../parts/format.ts';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { SuggestInput } from '../../parts/forms/suggest-input.tsx';
import { FieldProblem } from '../../parts/forms/typed.ts';
import { toast } from '../../parts/toast.tsx';

const everything = 'All answers';

/** Asks which answers go, and removes them: all of them only where a box says so. */
export function ClearForm({ model, onDone }: { model: string; onDone: () => void }) {
  const client = useQueryClient();
  const [fields, field] = useFields({ model, key: '', tag: '' });
  const which = Object.entries(fields).flatMap(([name, text]) => (text.trim() === '' ? [] : [[name, text.trim()]]));
  const [confirmed, setConfirmed] = useState<readonly string[]>([]);
  const clear = useMutation({
    async mutationFn() {
      if (which.length === 0 && confirmed.length === 0)
        throw new FieldProblem('all', 'Name a model, a key or a tag, or check this box.');
      const query = Object.fromEntries(which) as Record<string, string>;
      return await call<CacheClearedReply>('DELETE', '/admin/v1/cache', { query });
    },
    async onSuccess({ cleared }) {
      toast(cleared === 0 ? 'No answer matches.' : `${plural(cleared, 'answer')} removed.`);
      await client.invalidateQueries({ queryKey: ['/admin/v1/cache'] });
      onDone();
    },
  });
  return (
    <ActionForm by={clear} action={which.length === 0 ? 'Clear all answers' : 'Clear these answers'} look="danger">
      <Field name="model" label="Model">
        <SuggestInput from={models.path} field="id" placeholder="Any" {...field('model')} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field name="key" label="Key" hint="Its id.">
          <SuggestInput from="/admin/v1/keys" field="id" placeholder="Any" {...field('key')} />
        </Field>
        <Field name="tag" label="Tag">
          <Input spellCheck={false} placeholder="Any" {...field('tag')} />
        </Field>
      </div>
      {which.length === 0 && (
        <Field name="all" label="Without a model, key or tag">
          <Checks label={everything} options={[everything]} chosen={confirmed} onChosen={setConfirmed} />
        </Field>
      )}
    </ActionForm>
  );
}
