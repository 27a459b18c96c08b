import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ProviderReply } from '../../../../src/admin/providers.ts';
import { mergePatch } from '../../api/merge-patch.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { ChangedMeanwhile, currentOf, type Written } from '../../parts/changed-meanwhile.tsx';
import { Input, TextArea } from '../../parts/controls.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { toast } from '../../parts/toast.tsx';
import { addressOf, refreshProviders } from './use-providers.ts';

/** Changes a stored provider; its credentials are changed beside it. */
export function EditProvider({ provider, onDone }: { provider: ProviderReply; onDone: () => void }) {
  const client = useQueryClient();
  const [base, setBase] = useState(provider);
  const [baseUrl, setBaseUrl] = useState(() => addressIn(provider));
  const [rest, setRest] = useState(() => restOf(provider));
  const parsed = parse(rest);
  const before = base.definition ?? {};
  const after = { type: before.type, ...(baseUrl.trim() !== '' && { base_url: baseUrl.trim() }), ...parsed };
  const save = useMutation({
    mutationFn: () =>
      call('PATCH', addressOf(base.name), { body: { version: base.version, ...mergePatch(before, after) } }),
    async onSuccess() {
      toast(`${base.name} is changed.`);
      await refreshProviders(client);
      onDone();
    },
  });
  const current = currentOf<ProviderReply>(save.error);
  const goOn = (newest: ProviderReply, definition: Written) => {
    setBase(newest);
    setBaseUrl(addressIn({ definition }));
    setRest(restOf({ definition }));
    save.reset();
  };
  return (
    <Form
      error={current === null ? save.error : null}
      onSubmit={() => save.mutate()}
      footer={
        <Button type="submit" look="main" busy={save.isPending} disabled={parsed === null || current !== null}>
          Save
        </Button>
      }
    >
      {current !== null && (
        <ChangedMeanwhile
          before={before}
          theirs={current.definition ?? {}}
          yours={after}
          onGoOn={(next) => goOn(current, next)}
        />
      )}
      <Field name="base_url" label="Base URL" hint="Leave it empty for the default of the type.">
        {(control) => (
          <Input
            {...control}
            inputMode="url"
            spellCheck={false}
            placeholder={base.base_url}
            value={baseUrl}
            onChange={({ target }) => setBaseUrl(target.value)}
          />
        )}
      </Field>
      <Field
        name="definition"
        label="Other settings"
        hint="JSON with the keys of culvert.yaml: timeouts, headers, all_models, http2, health, dialects …"
        fault={parsed === null ? 'This is not a JSON object.' : null}
      >
        {(control) => (
          <TextArea
            {...control}
            rows={8}
            spellCheck={false}
            className="w-full font-mono text-xs"
            value={rest}
            onChange={({ target }) => setRest(target.value)}
          />
        )}
      </Field>
    </Form>
  );
}

interface Defined {
  definition: Written | null;
}

function addressIn({ definition }: Defined): string {
  return String(definition?.base_url ?? '');
}

function restOf({ definition }: Defined): string {
  const { type: _type, base_url: _address, ...rest } = definition ?? {};
  return JSON.stringify(rest, null, 2);
}

function parse(text: string): Written | null {
  try {
    const value: unknown = text.trim() === '' ? {} : JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Written) : null;
  } catch {
    return null;
  }
}
