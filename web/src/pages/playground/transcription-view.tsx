import { Mic, Square, Upload } from 'lucide-react';
import { useRef, useState } from 'react';
import type { Caller, Model } from '../../api/caller.ts';
import { Button } from '../../parts/button.tsx';
import { Code, Copy } from '../../parts/code.tsx';
import { FileInput, Input, Select } from '../../parts/controls.tsx';
import { bytes } from '../../parts/format.ts';
import { useStoredFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { useObjectUrl } from '../../parts/object-url.ts';
import { Section } from '../../parts/page.tsx';
import { ModelField, modelOf } from './model-field.tsx';
import { Trial } from './trial.tsx';
import { useCall } from './use-call.ts';
import { useRecorder } from './use-recorder.ts';

const replies = ['json', 'verbose_json', 'text', 'srt', 'vtt'];

interface Transcript {
  text: string;
  segments: readonly { start: number | null; end: number | null; text: string }[];
  /** Subtitles are shown as the file that they are. */
  file: boolean;
}

/** A file or a recording, written down. */
export function TranscriptionView({ caller, models }: { caller: Caller; models: readonly Model[] }) {
  const [settings, field, change] = useStoredFields(
    'playground.transcription',
    { model: '', reply: 'verbose_json', language: '', prompt: '' },
    'browser',
  );
  const [file, setFile] = useState<File | null>(null);
  const picker = useRef<HTMLInputElement>(null);
  const recorder = useRecorder(setFile);
  const sound = useObjectUrl(file);
  const model = modelOf(models, settings.model);
  const call = useCall<Transcript>(caller, (response) => transcriptOf(response, settings.reply));
  const fields = {
    model,
    response_format: settings.reply,
    ...(settings.language !== '' && { language: settings.language }),
    ...(settings.prompt !== '' && { prompt: settings.prompt }),
  };
  const run = () => {
    if (file === null) return;
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    form.set('file', file);
    call.run('/v1/audio/transcriptions', () => form);
  };
  return (
    <Trial
      caller={caller}
      call={call}
      action="Transcribe"
      disabled={file === null}
      onRun={run}
      shown={() => ({
        path: '/v1/audio/transcriptions',
        body: {},
        form: { ...fields, file: file?.name ?? 'talk.mp3' },
        sdk: 'openai',
        method: 'audio.transcriptions.create',
        use: { python: 'print(answer)', typescript: 'console.log(answer);' },
      })}
      hint="The transcript appears here."
      result={call.answer === null ? null : <Shown {...call.answer} />}
    >
      <Field name="file" label="Audio" fault={recorder.fault} hint="mp3, wav, m4a, webm, ogg, flac and more.">
        <div className="flex flex-col gap-2">
          <div className="flex flex-wrap gap-2">
            <FileInput
              ref={picker}
              accept="audio/*,video/*"
              className="sr-only"
              tabIndex={-1}
              onChange={(event) => setFile(event.target.files?.[0] ?? null)}
            />
            <Button icon={<Upload className="size-4" aria-hidden />} onClick={() => picker.current?.click()}>
              Choose a file
            </Button>
            {recorder.state === 'recording' ? (
              <Button icon={<Square className="size-3.5 fill-current text-bad" aria-hidden />} onClick={recorder.stop}>
                Stop recording
              </Button>
            ) : (
              <Button
                icon={<Mic className="size-4" aria-hidden />}
                busy={recorder.state === 'asking'}
                onClick={recorder.start}
              >
                Record
              </Button>
            )}
          </div>
          {file !== null && sound !== null && (
            <div className="flex flex-col gap-1.5">
              <p className="truncate text-muted text-xs">
                {file.name}, {bytes(file.size)}
              </p>
              {/* biome-ignore lint/a11y/useMediaCaption: its text is what is being made. */}
              <audio controls src={sound} className="w-full" aria-label={file.name} />
            </div>
          )}
        </div>
      </Field>
      <ModelField models={models} value={model} onValue={(next) => change({ model: next })} />
      <div className="grid grid-cols-2 gap-3">
        <Field name="response_format" label="Format">
          <Select {...field('reply')}>
            {replies.map((reply) => (
              <option key={reply}>{reply}</option>
            ))}
          </Select>
        </Field>
        <Field name="language" label="Language">
          <Input placeholder="detected" {...field('language')} />
        </Field>
      </div>
      <Field name="prompt" label="Prompt" hint="Names and words that may occur in it.">
        <Input {...field('prompt')} />
      </Field>
    </Trial>
  );
}

function Shown({ text, segments, file }: Transcript) {
  if (file) return <Code text={text} label="Subtitles" wrap />;
  return (
    <Section title="Transcript" actions={<Copy text={text} label="Copy the transcript" />}>
      {segments.length === 0 ? (
        <p className="whitespace-pre-wrap text-base">{text}</p>
      ) : (
        <ol className="flex flex-col gap-1.5 text-base">
          {segments.map(({ start, text: segmentText }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: segments have no identity but their place.
            <li key={at} className="grid grid-cols-[3.5rem_minmax(0,1fr)] gap-2">
              <span className="pt-px text-faint text-xs">{start === null ? '' : placeOf(start)}</span>
              <span className="[overflow-wrap:anywhere]">{segmentText.trim()}</span>
            </li>
          ))}
        </ol>
      )}
    </Section>
  );
}

async function transcriptOf(response: Response, reply: string): Promise<Transcript> {
  if (!reply.endsWith('json')) {
    return { text: await response.text(), segments: [], file: reply !== 'text' };
  }
  const { text, segments } = (await response.json()) as { text: string; segments?: Transcript['segments'] | null };
  return { text, segments: segments ?? [], file: false };
}

/** `1:05.2`. */
function placeOf(seconds: number): string {
  const tenths = Math.round(seconds * 10);
  const rest = ((tenths % 600) / 10).toFixed(1);
  return `${Math.floor(tenths / 600)}:${rest.padStart(4, '0')}`;
}
