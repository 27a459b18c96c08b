import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useEffect } from 'react';
import type { Caller, Model } from '../../api/caller.ts';
import { get } from '../../api/request.ts';
import { buttonClass } from '../../parts/button.tsx';
import { Input, Select, TextArea } from '../../parts/controls.tsx';
import { bytes } from '../../parts/format.ts';
import { Choose } from '../../parts/forms/choose.tsx';
import { useStoredFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { numberOf } from '../../parts/forms/typed.ts';
import { Section } from '../../parts/page.tsx';
import { ModelField, modelOf } from './model-field.tsx';
import { Trial } from './trial.tsx';
import { useCall } from './use-call.ts';

const fileFormats = ['mp3', 'wav', 'opus', 'flac', 'aac'];

interface Sound {
  url: string;
  size: number;
  format: string;
}

/** A text, said by a voice. */
export function SpeechView({ caller, models }: { caller: Caller; models: readonly Model[] }) {
  const [form, field, change] = useStoredFields(
    'playground.speech',
    { model: '', voice: 'alloy', text: 'Hello from Culvert.', format: 'mp3', speed: '', instructions: '' },
    'browser',
  );
  const model = modelOf(models, form.model);
  const voices = useVoices(caller, model);
  const call = useCall<Sound>(caller, async (response) => {
    const sound = await response.blob();
    return { url: URL.createObjectURL(sound), size: sound.size, format: form.format };
  });
  const url = call.answer?.url;
  useEffect(() => () => (url === undefined ? undefined : URL.revokeObjectURL(url)), [url]);
  const body = () => {
    const speed = numberOf(form.speed, 'speed');
    return {
      model,
      voice: form.voice,
      input: form.text,
      response_format: form.format,
      ...(speed !== undefined && { speed }),
      ...(form.instructions !== '' && { instructions: form.instructions }),
    };
  };
  return (
    <Trial
      caller={caller}
      call={call}
      action="Speak"
      disabled={form.text.trim() === ''}
      onRun={() => call.run('/v1/audio/speech', body)}
      shown={() => ({
        path: '/v1/audio/speech',
        body: body(),
        sdk: 'openai',
        method: 'audio.speech.create',
        use: {
          curl: `-o speech.${form.format}`,
          python: `answer.write_to_file("speech.${form.format}")`,
          typescript: `await writeFile('speech.${form.format}', Buffer.from(await answer.arrayBuffer())); // of node:fs/promises`,
        },
      })}
      hint="The audio plays here."
      result={
        call.answer === null ? null : (
          <Section>
            <div className="flex flex-wrap items-center gap-3">
              {/* biome-ignore lint/a11y/useMediaCaption: its text is next to it. */}
              <audio controls autoPlay src={call.answer.url} className="w-full min-w-60 flex-1" aria-label="Speech" />
              <a href={call.answer.url} download={`speech.${call.answer.format}`} className={buttonClass()}>
                <Download className="size-4" aria-hidden />
                {call.answer.format}, {bytes(call.answer.size)}
              </a>
            </div>
          </Section>
        )
      }
    >
      <ModelField models={models} value={model} onValue={(next) => change({ model: next })} />
      <Field name="voice" label="Voice">
        <Choose
          label="Voice"
          value={form.voice}
          options={voices.map((id) => ({ value: id, label: id }))}
          onValue={(next) => change({ voice: next })}
          className="w-full"
        />
      </Field>
      <Field name="input" label="Text">
        <TextArea rows={5} className="w-full field-sizing-content max-h-96 min-h-28" {...field('text')} />
      </Field>
      <div className="grid grid-cols-2 gap-3">
        <Field name="response_format" label="Format">
          <Select {...field('format')}>
            {fileFormats.map((format) => (
              <option key={format}>{format}</option>
            ))}
          </Select>
        </Field>
        <Field name="speed" label="Speed">
          <Input inputMode="decimal" placeholder="1" {...field('speed')} />
        </Field>
      </div>
      <Field name="instructions" label="Instructions" hint="How to say it. Not every model supports this.">
        <Input {...field('instructions')} />
      </Field>
    </Trial>
  );
}

const standardVoices = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'];

function useVoices(caller: Caller, model: string): readonly string[] {
  const { data } = useQuery({
    queryKey: ['/v1/audio/voices', caller.key.id, model],
    queryFn: async ({ signal }) =>
      (await get<{ data: { id: string }[] }>('/v1/audio/voices', { model }, signal, caller.headers)).data,
    staleTime: 60_000,
  });
  return data === undefined || data.length === 0 ? standardVoices : data.map(({ id }) => id);
}
