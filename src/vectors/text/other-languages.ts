import { stemmer as arabic } from '@orama/stemmers/arabic';
import { stemmer as armenian } from '@orama/stemmers/armenian';
import { stemmer as danish } from '@orama/stemmers/danish';
import { stemmer as dutch } from '@orama/stemmers/dutch';
import { stemmer as finnish } from '@orama/stemmers/finnish';
import { stemmer as french } from '@orama/stemmers/french';
import { stemmer as german } from '@orama/stemmers/german';
import { stemmer as greek } from '@orama/stemmers/greek';
import { stemmer as hungarian } from '@orama/stemmers/hungarian';
import { stemmer as italian } from '@orama/stemmers/italian';
import { stemmer as norwegian } from '@orama/stemmers/norwegian';
import { stemmer as portuguese } from '@orama/stemmers/portuguese';
import { stemmer as romanian } from '@orama/stemmers/romanian';
import { stemmer as russian } from '@orama/stemmers/russian';
import { stemmer as spanish } from '@orama/stemmers/spanish';
import { stemmer as swedish } from '@orama/stemmers/swedish';
import { stemmer as tamil } from '@orama/stemmers/tamil';
import { stemmer as turkish } from '@orama/stemmers/turkish';
import { stopwords as arabicStopWords } from '@orama/stopwords/arabic';
import { stopwords as armenianStopWords } from '@orama/stopwords/armenian';
import { stopwords as danishStopWords } from '@orama/stopwords/danish';
import { stopwords as dutchStopWords } from '@orama/stopwords/dutch';
import { stopwords as finnishStopWords } from '@orama/stopwords/finnish';
import { stopwords as frenchStopWords } from '@orama/stopwords/french';
import { stopwords as germanStopWords } from '@orama/stopwords/german';
import { stopwords as greekStopWords } from '@orama/stopwords/greek';
import { stopwords as hungarianStopWords } from '@orama/stopwords/hungarian';
import { stopwords as italianStopWords } from '@orama/stopwords/italian';
import { stopwords as norwegianStopWords } from '@orama/stopwords/norwegian';
import { stopwords as portugueseStopWords } from '@orama/stopwords/portuguese';
import { stopwords as romanianStopWords } from '@orama/stopwords/romanian';
import { stopwords as russianStopWords } from '@orama/stopwords/russian';
import { stopwords as spanishStopWords } from '@orama/stopwords/spanish';
import { stopwords as swedishStopWords } from '@orama/stopwords/swedish';
import { stopwords as tamilStopWords } from '@orama/stopwords/tamil';
import { stopwords as turkishStopWords } from '@orama/stopwords/turkish';

export interface Language {
  /** The stem of a word in lower case. */
  stem(word: string): string;
  stopWords: ReadonlySet<string>;
}

/** All languages but English. Modules of some KB each, loaded together when the first of them is needed. */
/** By name, without English. */
export const otherLanguages = {
  arabic: { stem: arabic, stopWords: new Set(arabicStopWords) },
  armenian: { stem: armenian, stopWords: new Set(armenianStopWords) },
  danish: { stem: danish, stopWords: new Set(danishStopWords) },
  dutch: { stem: dutch, stopWords: new Set(dutchStopWords) },
  finnish: { stem: finnish, stopWords: new Set(finnishStopWords) },
  french: { stem: french, stopWords: new Set(frenchStopWords) },
  german: { stem: german, stopWords: new Set(germanStopWords) },
  greek: { stem: greek, stopWords: new Set(greekStopWords) },
  hungarian: { stem: hungarian, stopWords: new Set(hungarianStopWords) },
  italian: { stem: italian, stopWords: new Set(italianStopWords) },
  norwegian: { stem: norwegian, stopWords: new Set(norwegianStopWords) },
  portuguese: { stem: portuguese, stopWords: new Set(portugueseStopWords) },
  romanian: { stem: romanian, stopWords: new Set(romanianStopWords) },
  russian: { stem: russian, stopWords: new Set(russianStopWords) },
  spanish: { stem: spanish, stopWords: new Set(spanishStopWords) },
  swedish: { stem: swedish, stopWords: new Set(swedishStopWords) },
  tamil: { stem: tamil, stopWords: new Set(tamilStopWords) },
  turkish: { stem: turkish, stopWords: new Set(turkishStopWords) },
} satisfies Readonly<Record<string, Language>>;
