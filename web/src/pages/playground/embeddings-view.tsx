import { useState } from 'react';
import type { Caller, Model } from '../../api/caller.ts';
import { Input, TextArea } from '../../parts/controls.tsx';
import { Field } from '../../parts/forms/form.tsx';
import { numberOf } from '../../parts/forms/typed.ts';
import { useStored } from '../../parts/stored/use-stored.ts';
import type { Json } from './conversation.ts';
import { ModelField, modelOf } from './model-field.tsx';
import { Similarities } from './similarities.tsx';
import { Trial } from './trial.tsx';
import { useCall } from './use-call.ts';

const examples = `How do I bake bread?
Bread is made of flour, water and salt.
The central bank raised its rates.
Interest on loans went up today.`;

/** A drawing of more would not be read. */
const textsMax = 40;

interface Embedded {
  texts: readonly string[];
  vectors: readonly (readonly number[])[];
}

/** Texts, one a line, and how alike they are. */
export function EmbeddingsView({ caller, models }: { caller: Caller; models: readonly Model[] }) {
  const [chosenModel, setModel] = useStored('playground.embeddings.model', '', 'browser');
  const model = modelOf(models, chosenModel);
  const [text, setText] = useStored('playground.embeddings.texts', examples);
  const [dimensions, setDimensions] = useState('');
  const texts = text.split('\n').filter((line) => line.trim() !== '');
  const call = useCall<Embedded>(caller, async (response) => {
    const { data } = (await response.json()) as { data: { index: number; embedding: number[] }[] };
    return { texts, vectors: [...data].sort((a, b) => a.index - b.index).map(({ embedding }) => embedding) };
  });
  const body = (): Json => {
    const size = numberOf(dimensions, 'dimensions');
    return { model, input: texts, ...(size !== undefined && { dimensions: size }) };
  };
  return (
    <Trial
      caller={caller}
      call={call}
      action="Compare"
      disabled={texts.length === 0 || texts.length > textsMax}
      onRun={() => call.run('/v1/embeddings', body)}
      shown={() => ({
        path: '/v1/embeddings',
        body: body(),
        sdk: 'openai',
        method: 'embeddings.create',
        use: {
          python: 'vectors = [one.embedding for one in answer.data]',
          typescript: 'const vectors = answer.data.map(({ embedding }) => embedding);',
        },
      })}
      hint="The similarity of the texts appears here."
      result={call.answer === null ? null : <Similarities {...call.answer} />}
    >
      <ModelField models={models} value={model} onValue={setModel} />
      <Field
        name="input"
        label="Texts"
        hint={`One per line, at most ${textsMax}.`}
        fault={texts.length > textsMax ? `There are ${texts.length} texts. At most ${textsMax} can be compared.` : null}
      >
        <TextArea
          rows={8}
          className="w-full field-sizing-content max-h-96 min-h-28"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </Field>
      <Field name="dimensions" label="Dimensions" hint="For models whose vectors can be shortened.">
        <Input
          inputMode="numeric"
          placeholder="default"
          value={dimensions}
          onChange={(event) => setDimensions(event.target.value)}
        />
      </Field>
    </Trial>
  );
}
