import { Download } from 'lucide-react';
import type { Caller, Model } from '../../api/caller.ts';
import { buttonClass } from '../../parts/button.tsx';
import { Input, Select, TextArea } from '../../parts/controls.tsx';
import { useStoredFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { numberOf } from '../../parts/forms/typed.ts';
import { ModelField, modelOf } from './model-field.tsx';
import { Trial } from './trial.tsx';
import { useCall } from './use-call.ts';

const sizes = ['auto', '512x512', '1024x1024', '1536x1024', '1024x1536'];

interface Drawn {
  prompt: string;
  pictures: readonly { b64_json: string; revised_prompt?: string }[];
}

/** A sentence, drawn. */
export function ImagesView({ caller, models }: { caller: Caller; models: readonly Model[] }) {
  const [form, field, change] = useStoredFields(
    'playground.images',
    { model: '', prompt: 'A lighthouse at dusk, seen from the sea.', size: 'auto', n: '1', quality: '' },
    'browser',
  );
  const model = modelOf(models, form.model);
  const call = useCall<Drawn>(caller, async (response) => {
    const { data } = (await response.json()) as { data: Drawn['pictures'] };
    return { prompt: form.prompt, pictures: data };
  });
  const body = () => ({
    model,
    prompt: form.prompt,
    n: numberOf(form.n, 'n') ?? 1,
    ...(form.size !== 'auto' && { size: form.size }),
    ...(form.quality !== '' && { quality: form.quality }),
    response_format: 'b64_json',
  });
  return (
    <Trial
      caller={caller}
      call={call}
      action="Generate"
      disabled={form.prompt.trim() === ''}
      onRun={() => call.run('/v1/images/generations', body)}
      shown={() => ({
        path: '/v1/images/generations',
        body: body(),
        sdk: 'openai',
        method: 'images.generate',
        use: {
          python: 'pictures = [one.b64_json for one in answer.data]',
          typescript: 'const pictures = answer.data?.map(({ b64_json }) => b64_json);',
        },
      })}
      hint="The images appear here."
      result={call.answer === null ? null : <Pictures {...call.answer} />}
    >
      <ModelField models={models} value={model} onValue={(next) => change({ model: next })} />
      <Field name="prompt" label="Prompt">
        <TextArea rows={5} className="w-full field-sizing-content max-h-96 min-h-28" {...field('prompt')} />
      </Field>
      <div className="grid grid-cols-3 gap-3">
        <Field name="size" label="Size">
          <Select {...field('size')}>
            {sizes.map((size) => (
              <option key={size}>{size}</option>
            ))}
          </Select>
        </Field>
        <Field name="quality" label="Quality">
          <Select {...field('quality')}>
            <option value="">default</option>
            {['low', 'medium', 'high', 'xhigh', 'max'].map((quality) => (
              <option key={quality}>{quality}</option>
            ))}
          </Select>
        </Field>
        <Field name="n" label="Number">
          <Input inputMode="numeric" {...field('n')} />
        </Field>
      </div>
    </Trial>
  );
}

function Pictures({ prompt, pictures }: Drawn) {
  return (
    <ul className="grid gap-3 sm:grid-cols-2">
      {pictures.map(({ b64_json, revised_prompt }, at) => {
        const type = typeOf(b64_json);
        const source = `data:image/${type};base64,${b64_json}`;
        const ending = type.replace('+xml', '');
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: pictures have no identity but their place.
          <li key={at} className="overflow-hidden rounded-lg border border-line bg-panel">
            <img src={source} alt={revised_prompt ?? prompt} className="w-full" />
            <div className="flex items-center gap-2 border-line border-t p-2 text-muted text-xs">
              <span className="min-w-0 flex-1 truncate" title={revised_prompt ?? prompt}>
                {revised_prompt ?? prompt}
              </span>
              <a
                href={source}
                download={`picture-${at + 1}.${ending}`}
                className={buttonClass('quiet', undefined, 'row')}
              >
                <Download className="size-4" aria-hidden /> {ending}
              </a>
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** By the first bytes: the type may differ from the requested one. */
function typeOf(base64: string): 'png' | 'jpeg' | 'webp' | 'gif' | 'svg+xml' {
  if (base64.startsWith('/9j/')) return 'jpeg';
  if (base64.startsWith('R0lGOD')) return 'gif';
  // `<`, which no other type begins with.
  if (base64.startsWith('PD') || base64.startsWith('PH')) return 'svg+xml';
  return base64.startsWith('UklGR') ? 'webp' : 'png';
}
