import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decidingDigest, decidingParts } from '../../src/inference/cache/semantic/deciding-parts.ts';

/** Pairs of questions with one deciding difference, by what differs. */
const different: Record<string, readonly (readonly [string, string])[]> = {
  numbers: [
    ['What is 17 plus 4?', 'What is 17 plus 5?'],
    ['Who won in 1998?', 'Who won in 1999?'],
    ['Convert 5 to 3', 'Convert 3 to 5'],
    ['Is -5 colder?', 'Is 5 colder?'],
    ['I need two rooms', 'I need three rooms'],
    ['Is 1.5 enough?', 'Is 15 enough?'],
    ['Is .5 enough?', 'Is 5 enough?'],
    ['Add twenty apples', 'Add thirty apples'],
    ['Take ٣ pills', 'Take ٤ pills'],
  ],
  'signs of numbers': [
    ['What is (2+3)*4?', 'What is 2+(3*4)?'],
    ['What is 5!?', 'What is 5?'],
    ['How much is 2⁵?', 'How much is 25?'],
    ['What is 10² plus 1?', 'What is 102 plus 1?'],
    ['What is log₂8?', 'What is log28?'],
    ['What is log₂x?', 'What is log2x?'],
    ['What is A₁2?', 'What is A12?'],
    ['Is 1½ enough?', 'Is 11⁄2 enough?'],
    ['How long is 6" in cm?', "How long is 6' in cm?"],
    ['Does it open at 5 am?', 'Does it open at 5?'],
  ],
  'who does it': [
    ['Which companies does Google own?', 'Which companies own Google?'],
    ['Which teams did beat Ajax?', 'Which teams did Ajax beat?'],
    ['Which countries do Americans like?', 'Which countries like Americans?'],
    ["What if I've paid late?", "What if I'm paid late?"],
    ['Is the shop open on Sunday?', 'The shop is open on Sunday.'],
    ['How do I do a split?', 'How do I split?'],
  ],
  negations: [
    ['Is it safe to eat?', 'Is it not safe to eat?'],
    ['Can I open it?', "Can't I open it?"],
    ['Does it work with sugar?', 'Does it work without sugar?'],
    ['Which bird flies?', 'Which bird never flies?'],
    ['Is it possible?', 'Is it impossible?'],
    ['I do like it', "I don't like it"],
  ],
  names: [
    ['What is the capital of France?', 'What is the capital of Spain?'],
    ['Is Anna taller than Bob?', 'Is Bob taller than Anna?'],
    ['is python good?', 'is ruby good?'],
    ['Tell me about the US', 'Tell me about us'],
    ['Flights from Rome to Oslo', 'Flights from Oslo to Rome'],
    ['What does Apple sell?', 'What does apple sell?'],
    ['Что такое Волга?', 'Что такое Лена?'],
    ['東京の天気は', '大阪の天気は'],
    ['Is hepatitis A curable?', 'Is hepatitis curable?'],
    ['What is hepatitis a?', 'What is hepatitis?'],
    ['who has plan a', 'who has plan'],
    ['What is .NET?', 'What is NET?'],
    ['Where can I see The Who?', 'Where can I see Who?'],
    ['Is a DO a doctor?', 'Is a doctor?'],
    [
      'Who lives in 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}?',
      'Who lives in 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}?',
    ],
  ],
  dates: [
    ['Events on 2024-01-05', 'Events on 2024-05-01'],
    ['Open on Monday?', 'Open on Tuesday?'],
    ['Rain on March 3rd?', 'Rain on April 3rd?'],
    ['Meet at 10:30', 'Meet at 10:45'],
    ['What happens today?', 'What happens tomorrow?'],
  ],
  codes: [
    ['Where is order AB-1234?', 'Where is order AB-1235?'],
    ['What does error E404 mean?', 'What does error E500 mean?'],
    ['Run `ls -a`', 'Run `ls -l`'],
    ['Explain C++', 'Explain C#'],
    ['Explain C', 'Explain C++'],
    ['Is v1.2.3 out?', 'Is v1.2.4 out?'],
    ['Open https://a.example/x', 'Open https://a.example/y'],
    ['Write to ann@a.example', 'Write to bob@a.example'],
    ['What is a < b?', 'What is a > b?'],
    ['What is my_var?', 'What is my_val?'],
  ],
  quotations: [
    ['Translate "good day"', 'Translate "good night"'],
    ['Translate “yes, of course”', 'Translate “yes, of that course”'],
    ["Spell 'to be'", "Spell 'to do'"],
  ],
  units: [
    ['Is 5 kg heavy?', 'Is 5 lb heavy?'],
    ['Is 5kg heavy?', 'Is 5lb heavy?'],
    ['What is 20 % of it?', 'What is 20 ‰ of it?'],
    ['Is 5 m long?', 'Is 5 s long?'],
    ['Price in $', 'Price in €'],
    ['Is 30 °C hot?', 'Is 30 °F hot?'],
  ],
  languages: [
    ['Say hello in French', 'Say hello in German'],
    ['How do I cook rice?', 'Wie koche ich Reis?'],
    ['translate this to spanish', 'translate this to italian'],
  ],
  'one deciding word': [
    ['How do I enable the alarm?', 'How do I disable the alarm?'],
    ['How do I log in?', 'How do I log out?'],
    ['What do I file?', 'How do I file?'],
    ['Who is the king?', 'Who was the king?'],
    ['Should I take it?', 'Can I take it?'],
    ['List tea and milk', 'List tea or milk'],
    ['Do this before lunch', 'Do this after lunch'],
    ['Is it the largest?', 'Is it the smallest?'],
    ['When did it end?', 'Where did it end?'],
    ['Is he ill?', 'Is she ill?'],
    ['Translate english to german', 'Translate german to english'],
    ['What is your name?', 'What is my name?'],
    ['What is my name?', 'What is the name?'],
    ['What do I need?', 'What do I want?'],
    ['Can I open it?', 'Do I open it?'],
    ['Am I safe?', 'Are you safe?'],
    ['What is safe?', 'Is it safe?'],
    ['What can I eat?', 'Can I eat?'],
    ['Raise it to 5', 'Raise it of 5'],
    ['How do I say hello in French?', 'How do I say thanks in French?'],
    ['Translate to French: Hello, my friend', 'Translate to French: Hi, my friend'],
    ['Summarize: a cat sat', 'Summarize: the cat sat'],
    ['Hello, my friend\n\nMake it formal.', 'Hi, my friend\n\nMake it formal.'],
    ['Make it formal: I am cold, thanks', 'Make it formal: I am cold, please'],
    ['How do you spell a friend?', 'How do you spell the friend?'],
    ['hello world in python', 'hi world in python'],
    ['Who has a few days?', 'Who has few days?'],
    ['What happened in World War I?', 'What happened in World War?'],
  ],
  'words of other languages': [
    ['Ist das Licht an?', 'Ist das Licht?'],
    ['Wie groß ist der See?', 'Wie groß ist die See?'],
    ['Beißt der Hund den Mann?', 'Beißt den Hund der Mann?'],
    ['Ist sie krank?', 'Sind sie krank?'],
    ['Wie sage ich danke?', 'Wie sage ich hallo?'],
    ['Schalte das Licht ein', 'Schalte das Licht aus'],
    ['Wie hoch ist ein Baum?', 'Wie hoch ist kein Baum?'],
    ['Combien coûte le livre ?', 'Combien coûte la livre ?'],
    ['Où est le poste ?', 'Où est la poste ?'],
    ['Il y a du pain ?', "Il n'y a pas de pain ?"],
    ['¿A quién llamó Ana?', '¿Quién llamó a Ana?'],
    ['¿Cuánto cuesta el capital?', '¿Cuánto cuesta la capital?'],
    ['¿Es seguro?', '¿No es seguro?'],
    ['Come si dice grazie?', 'Come si dice ciao?'],
    ['Quanto costa il fine?', 'Quanto costa la fine?'],
    ['Onde fica o capital?', 'Onde fica a capital?'],
    ['É seguro?', 'Não é seguro?'],
    ['Por favor, total', 'Please, total'],
    ['Olá, Porto', 'Hola, Porto'],
  ],
};

for (const [what, pairs] of Object.entries(different)) {
  test(`the difference check tells ${what} apart`, () => {
    for (const [one, other] of pairs) assert.notEqual(decidingDigest(one), decidingDigest(other), `${one} | ${other}`);
  });
}

const alike: readonly (readonly [string, string])[] = [
  ['What is the capital of France?', 'what is the capital of France'],
  ['What is the capital of France?', 'Please tell me the capital of France!'],
  ["What's the capital of France?", 'I want to know the capital of France.'],
  ['How do I reset my password?', 'how can I reset my password'],
  ['How do I reset my password?', 'Hello, how would I reset my password, please?'],
  ['How do I reset my password?', 'How to reset my password? Thanks'],
  ["It doesn't start", 'it does not start'],
  ['Is five enough?', 'Is 5 enough?'],
  ['I cannot see it', "I can't see it"],
  ['Is ５ enough?', 'Is 5 enough?'],
  ['Is “it” right?', 'Is "it" right?'],
  ['Is 5kg heavy?', 'is 5kg heavy'],
  ['How much CO₂ does a car make?', 'How much CO2 does a car make?'],
  ['Is C₆H₁₂O₆ sweet?', 'Is C6H12O6 sweet?'],
];

test('the difference check lets questions through that differ in common words alone', () => {
  for (const [one, other] of alike) {
    assert.equal(
      decidingDigest(one),
      decidingDigest(other),
      JSON.stringify([decidingParts(one), decidingParts(other)]),
    );
  }
});

/** Questions with paraphrases that only ask in another way. */
const paraphrases: Record<string, readonly (readonly string[])[]> = {
  German: [
    [
      'Was ist die Hauptstadt von Frankreich?',
      'Sag mir bitte die Hauptstadt von Frankreich',
      'Hallo, kannst du mir sagen, was die Hauptstadt von Frankreich ist?',
      'Ich möchte wissen, was die Hauptstadt von Frankreich ist.',
      'Wie lautet die Hauptstadt von Frankreich?',
    ],
    ['Wie koche ich Reis?', 'Wie koche ich Reis, bitte?', 'Guten Tag, wie koche ich Reis? Danke!'],
    ['Wann öffnet der Laden?', 'Hallo! Wann öffnet der Laden bitte?', 'Bitte: wann öffnet der Laden?'],
  ],
  French: [
    [
      'Quelle est la capitale de la France ?',
      'Dites-moi la capitale de la France',
      "Bonjour, pouvez-vous me dire quelle est la capitale de la France, s'il vous plaît ?",
      "J'aimerais savoir quelle est la capitale de la France. Merci d'avance !",
    ],
    ['Comment cuire le riz ?', 'Comment cuire le riz svp', 'Salut, comment cuire le riz ? Merci'],
    ['Est-ce que Paris est grand ?', "Paris est grand, s'il te plaît ?"],
  ],
  Spanish: [
    [
      '¿Cuál es la capital de Francia?',
      'Dime la capital de Francia',
      'Hola, ¿me puedes decir cuál es la capital de Francia?',
      'Quiero saber cuál es la capital de Francia, por favor. ¡Gracias!',
    ],
    ['¿Cómo se cuece el arroz?', 'Hola, ¿cómo se cuece el arroz?', '¿Cómo se cuece el arroz, por favor?'],
  ],
  Italian: [
    [
      'Qual è la capitale della Francia?',
      'Dimmi la capitale della Francia',
      'Ciao, mi puoi dire qual è la capitale della Francia, per favore?',
      'Vorrei sapere qual è la capitale della Francia. Grazie mille!',
    ],
    ['Come si cuoce il riso?', 'Buongiorno, come si cuoce il riso? Grazie', 'Come si cuoce il riso per favore?'],
  ],
  Portuguese: [
    [
      'Qual é a capital da França?',
      'Diga-me a capital da França',
      'Olá, pode me dizer qual é a capital da França, por favor?',
      'Gostaria de saber qual é a capital da França. Obrigado!',
    ],
    ['Como se cozinha o arroz?', 'Bom dia, como se cozinha o arroz?', 'Como se cozinha o arroz, por favor?'],
  ],
};

for (const [language, groups] of Object.entries(paraphrases)) {
  test(`the difference check lets paraphrases in ${language} through`, () => {
    for (const [first = '', ...others] of groups) {
      for (const other of others) {
        const parts = JSON.stringify([first, other].map(decidingParts));
        assert.equal(decidingDigest(other), decidingDigest(first), `${first} | ${other}: ${parts}`);
      }
    }
  });
}

test('any word put in, left out or replaced differs, unless it is common', () => {
  const words = ['green', 'Oslo', '42', 'not', 'never', 'X9', 'kg', 'été', 'größer', '水', 'only'];
  const word = fc.constantFrom(...words);
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), word, fc.nat(), (sentence, put, place) => {
      const at = place % sentence.length;
      const text = (all: readonly string[]) => decidingDigest(`Tell me: ${all.join(' ')}`);
      const before = text(sentence);
      assert.notEqual(text(sentence.toSpliced(at, 0, put)), before);
      assert.notEqual(text(sentence.toSpliced(at, 1)), before);
      if (sentence[at] !== put) assert.notEqual(text(sentence.with(at, put)), before);
    }),
  );
});

test('the difference check is linear in its text', () => {
  for (const piece of [
    '"',
    "'a",
    '`',
    'was ',
    'please ',
    ', bitte',
    ' thanks,',
    'a-',
    '1.',
    '_',
    'a:',
    '\\',
    'aB',
    '-1',
    "n't",
    '://',
  ]) {
    /** The least of three: a busy machine adds to some. */
    const tookUs = (times: number) => {
      const text = piece.repeat(times);
      const all = Array.from({ length: 3 }, () => {
        const before = process.cpuUsage();
        decidingDigest(text);
        const { user, system } = process.cpuUsage(before);
        return user + system;
      });
      return Math.min(...all);
    };
    tookUs(1_000);
    const [small, large] = [Math.max(1_000, tookUs(4_000)), tookUs(32_000)];
    assert.ok(large < 40 * small, `${piece}: ${small} µs, then ${large} µs`);
  }
});
