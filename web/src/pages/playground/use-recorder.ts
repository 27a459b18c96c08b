import { useEffect, useRef, useState } from 'react';

export interface Recorder {
  state: 'idle' | 'asking' | 'recording';
  /** Why it cannot record, in a sentence. */
  fault: string | null;
  start: () => void;
  stop: () => void;
}

/** The microphone, into one file. */
export function useRecorder(onFile: (file: File) => void): Recorder {
  const [state, setState] = useState<Recorder['state']>('idle');
  const [fault, setFault] = useState<string | null>(null);
  const recorder = useRef<MediaRecorder | null>(null);
  const left = useRef(false);
  useEffect(() => {
    left.current = false;
    return () => {
      left.current = true;
      release(recorder.current);
    };
  }, []);

  const start = async () => {
    setFault(null);
    setState('asking');
    try {
      // Browsers hide it from pages that came over plain http from another machine.
      if (navigator.mediaDevices === undefined)
        throw new Error('A browser offers the microphone only over https or on localhost.');
      const made = new MediaRecorder(await navigator.mediaDevices.getUserMedia({ audio: true }));
      // The page may be left while the browser asks: nothing would end the recording.
      if (left.current) return release(made);
      const parts: Blob[] = [];
      made.ondataavailable = ({ data }) => parts.push(data);
      made.onstop = () => {
        release(made);
        setState('idle');
        const type = made.mimeType.split(';')[0] || 'audio/webm';
        onFile(new File(parts, `recording.${type.split('/')[1]}`, { type }));
      };
      recorder.current = made;
      made.start();
      setState('recording');
    } catch (error) {
      setState('idle');
      const denied = error instanceof DOMException && error.name === 'NotAllowedError';
      setFault(denied ? 'The browser does not allow this page to use the microphone.' : (error as Error).message);
    }
  };
  const stop = () => {
    if (recorder.current?.state === 'recording') recorder.current.stop();
  };
  return { state, fault, start: () => void start(), stop };
}

function release(recorder: MediaRecorder | null): void {
  for (const track of recorder?.stream.getTracks() ?? []) track.stop();
}
