import { useState } from 'react';
import { agents } from '../../api/entries.ts';
import { Input } from '../../parts/controls.tsx';
import { plural } from '../../parts/format.ts';
import { Field } from '../../parts/forms/form.tsx';
import { numberOrText } from '../../parts/forms/typed.ts';
import { AddService } from '../../parts/stored/add-service.tsx';

export function AddAgent({ onAdded }: { onAdded: () => void }) {
  const [cost, setCost] = useState('');
  return (
    <AddService
      entries={agents}
      list="/dashboard/agents"
      action="Add agent"
      found={({ skills }) => (skills.length === 0 ? null : plural(skills.length, 'skill'))}
      hints={{
        name: 'Callers reach it at /a2a/NAME.',
        url: 'Its card is below this address, or at the address itself if it ends with .json.',
        token: 'Sent as Authorization: Bearer.',
      }}
      placeholder="https://…"
      rest={cost.trim() === '' ? {} : { cost: numberOrText(cost) }}
      onAdded={onAdded}
    >
      <Field name="cost" label="Units per message">
        <Input
          inputMode="decimal"
          placeholder="As costs.a2a in culvert.yaml"
          value={cost}
          onChange={({ target }) => setCost(target.value)}
        />
      </Field>
    </AddService>
  );
}
