import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Caller, modelsQuery } from '../../api/caller.ts';
import { Input, Segments, Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { numberOrText } from '../../parts/forms/typed.ts';
import { collectionsKey, vectors } from './vectors-api.ts';

const distances = ['Cosine', 'Dot', 'Euclid', 'Manhattan'];
const builtIn = 'culvert-lexical-1024';

interface NewCollectionProps {
  caller: Caller;
  onClose: () => void;
  onMade: (name: string) => void;
}

export function NewCollection({ caller, onClose, onMade }: NewCollectionProps) {
  const [name, setName] = useState('');
  const [holds, setHolds] = useState<'texts' | 'vectors'>('texts');
  const [chosen, setModel] = useState('');
  const [size, setSize] = useState('');
  const [distance, setDistance] = useState('Cosine');
  const client = useQueryClient();
  const { data } = useQuery(modelsQuery(caller));
  const models = data?.filter(({ model_type }) => model_type === 'embedding').map(({ id }) => id) ?? [];
  const model = chosen || (models.includes(builtIn) ? builtIn : (models[0] ?? ''));
  const make = useMutation({
    mutationFn: () => {
      const kind = holds === 'texts' ? { embedding_model: model } : { vector_size: numberOrText(size) };
      return vectors(caller, 'POST', '/collections', { name, distance, ...kind });
    },
    async onSuccess() {
      await client.invalidateQueries({ queryKey: [collectionsKey] });
      onMade(name);
    },
  });
  const missing = name === '' || (holds === 'texts' ? model === '' : size === '');
  return (
    <Dialog open onClose={onClose} title="New collection">
      <ActionForm by={make} onCancel={onClose} action="Create collection" disabled={missing}>
        <Field name="name" label="Name" hint="Letters, digits and the signs _ - .">
          <Input value={name} onChange={(event) => setName(event.target.value.trim())} />
        </Field>
        <div>
          <Segments
            label="Content"
            value={holds}
            options={[
              { value: 'texts', label: 'Texts' },
              { value: 'vectors', label: 'Your own vectors' },
            ]}
            onValue={setHolds}
          />
        </div>
        {holds === 'texts' ? (
          <Field
            name="embedding_model"
            label="Embedding model"
            hint={`${builtIn} is built in and finds by the words of a text. A provider's model finds by meaning.`}
          >
            <Select value={model} onChange={(event) => setModel(event.target.value)}>
              {models.map((id) => (
                <option key={id}>{id}</option>
              ))}
            </Select>
          </Field>
        ) : (
          <Field name="vector_size" label="Dimensions">
            <Input
              inputMode="numeric"
              placeholder="1,536"
              className="w-32"
              value={size}
              onChange={(event) => setSize(event.target.value)}
            />
          </Field>
        )}
        <Field name="distance" label="Distance" hint="You cannot change model, dimensions and distance later.">
          <Select className="w-32" value={distance} onChange={(event) => setDistance(event.target.value)}>
            {distances.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </Select>
        </Field>
      </ActionForm>
    </Dialog>
  );
}
