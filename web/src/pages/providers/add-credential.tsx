import { useMutation, useQueryClient } from '@tanstack/react-query';
import { providers } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { Input } from '../../parts/controls.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { useFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { numberOrText } from '../../parts/forms/typed.ts';
import { toast } from '../../parts/toast.tsx';

const blank = { api_key: '', id: '', weight: '', rpm: '' };

export function AddCredential({ provider, onAdded }: { provider: string; onAdded: () => void }) {
  const client = useQueryClient();
  const [fields, field] = useFields(blank);
  const add = useMutation({
    mutationFn: () =>
      call('POST', `${providers.addressOf(provider)}/credentials`, {
        body: {
          api_key: fields.api_key.trim(),
          ...(fields.id.trim() !== '' && { id: fields.id.trim() }),
          ...(fields.weight.trim() !== '' && { weight: numberOrText(fields.weight) }),
          ...(fields.rpm.trim() !== '' && { rpm: numberOrText(fields.rpm) }),
        },
      }),
    async onSuccess() {
      toast('The credential was added.');
      await providers.refresh(client);
      onAdded();
    },
  });
  return (
    <ActionForm by={add} action="Add credential" disabled={fields.api_key.trim() === ''}>
      <Field name="api_key" label="API key">
        <Input type="password" autoComplete="off" {...field('api_key')} />
      </Field>
      <div className="grid gap-4 sm:grid-cols-3">
        <Field name="id" label="Name" hint="Shown in lists and health.">
          <Input spellCheck={false} placeholder="Generated" {...field('id')} />
        </Field>
        <Field name="weight" label="Weight">
          <Input inputMode="decimal" placeholder="1" {...field('weight')} />
        </Field>
        <Field name="rpm" label="Requests per minute" hint="Beyond it, Culvert uses another credential.">
          <Input inputMode="numeric" placeholder="No limit" {...field('rpm')} />
        </Field>
      </div>
    </ActionForm>
  );
}
