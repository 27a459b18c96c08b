import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Caller, modelsQuery } from '../../api/caller.ts';
import { Button } from '../../parts/button.tsx';
import { Input, Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { vectors } from './vectors-api.ts';

interface NewCollectionProps {
  caller: Caller;
  onClose: () => void;
  onMade: (name: string) => void;
}

export function NewCollection({ caller, onClose, onMade }: NewCollectionProps) {
  const [name, setName] = useState('');
  const [chosen, setModel] = useState('');
  const client = useQueryClient();
  const { data } = useQuery(modelsQuery(caller));
  const models = data?.filter(({ model_type }) => model_type === 'embedding').map(({ id }) => id) ?? [];
  const model = chosen || (models.includes('culvert-lexical-1024') ? 'culvert-lexical-1024' : (models[0] ?? ''));
  const make = useMutation({
    mutationFn: () => vectors(caller, 'POST', '/collections', { name, embedding_model: model }),
    async onSuccess() {
      await client.invalidateQueries({ queryKey: ['/v1/vectors/collections'] });
      onMade(name);
    },
  });
  return (
    <Dialog open onClose={onClose} title="New collection">
      <Form
        error={make.error}
        onSubmit={() => make.mutate()}
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" look="main" busy={make.isPending} disabled={name === '' || model === ''}>
              Make it
            </Button>
          </>
        }
      >
        <Field name="name" label="Name">
          {(control) => <Input {...control} value={name} onChange={(event) => setName(event.target.value.trim())} />}
        </Field>
        <Field
          name="embedding_model"
          label="Texts are embedded by"
          hint="culvert-lexical-1024 is built in and finds by words; a provider's model knows meanings."
        >
          {(control) => (
            <Select {...control} value={model} onChange={(event) => setModel(event.target.value)}>
              {models.map((id) => (
                <option key={id}>{id}</option>
              ))}
            </Select>
          )}
        </Field>
      </Form>
    </Dialog>
  );
}
