import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import { call } from '../../api/request.ts';
import { Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { Secret } from './secret.tsx';

/** A new secret for the same key; the old one goes on for a while. */
export function RotateKey({ of, onClose }: { of: KeyReply; onClose: () => void }) {
  const [grace, setGrace] = useState('24h');
  const client = useQueryClient();
  const rotate = useMutation({
    mutationFn: () => call<{ key: string }>('POST', `/admin/v1/keys/${of.id}/rotate`, { body: { grace } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['/admin/v1/keys'] }),
  });
  if (rotate.data !== undefined) {
    return (
      <Dialog open onClose={null} title={`New secret of ${of.name}`}>
        <Secret secret={rotate.data.key} onDone={onClose} />
      </Dialog>
    );
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Rotate the secret of ${of.name}`}
      description="The key keeps its limits, its usage and its data."
    >
      <ActionForm by={rotate} onCancel={onClose} action="Rotate">
        <Field name="grace" label="Grace period" hint="How long the old secret still works.">
          <Select value={grace} onChange={(event) => setGrace(event.target.value)}>
            <option value="0s">none</option>
            <option value="1h">1 hour</option>
            <option value="24h">1 day</option>
            <option value="7d">1 week</option>
          </Select>
        </Field>
      </ActionForm>
    </Dialog>
  );
}
