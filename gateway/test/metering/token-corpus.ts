import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { COMMON_PAIRS, COMMON_WORDS } from "../../src/pricing/common-words.ts";

/**
 * Texts of many kinds, on which the estimate of a text's tokens is held against real tokenizers. They are the same each
 * time: by a fixed seed, from packages of a fixed version, and from the runtime's own data.
 */
export function tokenCorpus(): Map<string, readonly string[]> {
  return new Map([...prose(), ...files(), ...data(), ...randomTexts()]);
}

type Kind = [name: string, texts: readonly string[]];

const groups: Record<string, readonly string[]> = {
  English: ["English"],
  "Western European": ["German", "French", "Spanish", "Portuguese", "Italian", "Dutch", "Swedish"],
  "other Latin": ["Finnish", "Polish", "Czech", "Hungarian", "Turkish", "Indonesian", "Swahili"],
  Vietnamese: ["Vietnamese"],
  "Cyrillic and Greek": ["Russian", "Ukrainian", "Greek"],
  "Arabic and Hebrew": ["Hebrew", "Arabic", "Persian"],
  "Indian, Thai, Georgian, Ethiopic": ["Hindi", "Bengali", "Tamil", "Thai", "Georgian", "Amharic"],
  "Chinese, Japanese, Korean": ["Chinese", "Japanese", "Korean"],
};

function prose(): Kind[] {
  return Object.entries(groups).map(([name, languages]) => [
    `prose: ${name}`,
    languages.flatMap((language) => {
      const article = articles[language] ?? "";
      return [article, ...article.split(/(?<=[.;,。،।])\s*/).filter(({ length }) => length > 8)];
    }),
  ]);
}

const modules = dirname(dirname(createRequire(import.meta.url).resolve("zod")));
const read = (path: string): string => readFileSync(join(modules, path), "utf8");
const pieces = (text: string, size: number, most: number): string[] =>
  Array.from({ length: Math.min(most, Math.ceil(text.length / size)) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  );

const locales = "ar de fa fi fr he hu id ja ka km ko lt pl ru sv ta th tr uk ur vi zh-CN".split(" ");

/** Code, notes, JSON, and messages in many languages, from a package of a fixed version. */
function files(): Kind[] {
  const json = read("zod/package.json");
  return [
    ["code", pieces(read("zod/v4/core/schemas.js"), 1_500, 8)],
    ["code: declarations", pieces(read("zod/v4/core/schemas.d.ts"), 1_500, 4)],
    ["notes in Markdown", pieces(read("zod/README.md"), 1_500, 4)],
    ["JSON", [...pieces(json, 1_500, 3), ...pieces(JSON.stringify(JSON.parse(json)), 1_000, 3)]],
    [
      "code: messages in 23 languages",
      locales.map((locale) => read(`zod/v4/locales/${locale}.js`).slice(1_000, 2_500)),
    ],
  ];
}

let state = 0;
/** Xorshift: below `limit`. */
function below(limit: number): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % limit;
}
const one = (of: readonly string[] | string): string => of[below(of.length)] ?? "";
const many = (count: number, make: () => string): string => Array.from({ length: count }, make).join("");
const between = (low: number, high: number) => (): string => String.fromCodePoint(low + below(high - low + 1));

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const DIGITS = "0123456789";
const MARKS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

function data(): Kind[] {
  state = 7;
  const list = (make: () => string): string[] => Array.from({ length: 8 }, make);
  const number = (): string => String(below(100_000));
  return [
    [
      "addresses of pages",
      list(
        () =>
          `https://${one(["www.example.com", "github.com/owner"])}/${many(9, () => one(LOWER))}?q=${many(12, () => one(LOWER + UPPER + DIGITS))}&page=${number()}`,
      ),
    ],
    [
      "tables",
      list(() =>
        many(15, () => `| ${one(["alpha", "beta", "total", "price"])} | ${number()} | ${below(100)}.${below(100)} |\n`),
      ),
    ],
    [
      "numbers with commas",
      list(() => many(20, () => `${number()},${below(1_000)}.${number()},${one(["yes", "no", "NaN", ""])}\n`)),
    ],
    [
      "names in code",
      list(() =>
        many(
          30,
          () =>
            one(["get", "set", "make", "read", "Write", "to", "HTTP", "_id", "value", "Index", "Nano"]) +
            one(["", "", "_", ".", "("]),
        ),
      ),
    ],
    [
      "tool arguments",
      list(() =>
        JSON.stringify({
          query: many(5, () => `${one(["weather", "in", "the", "city"])} `),
          limit: below(50),
          tags: [one(LOWER), number()],
        }),
      ),
    ],
    [
      "the same over and over",
      [..." \n\t=-_*#.~/a0eA'\"(){}<>\\|é日я"].flatMap((unit) => [8, 40, 200].map((count) => unit.repeat(count))),
    ],
    [
      "pairs over and over",
      [
        "ab",
        "ed",
        "er",
        "th",
        "in",
        " a",
        " .",
        "()",
        "{}",
        "=>",
        "--",
        "日本",
        "01",
        "aA",
        "'s",
        "\r\n",
        " \n",
        "\n ",
        " th",
        "er ",
      ].flatMap((unit) => [8, 40, 200].map((count) => unit.repeat(count))),
    ],
  ];
}

const units: Record<string, () => string> = {
  letters: () => one(LOWER),
  capitals: () => one(UPPER),
  "letters and digits": () => one(LOWER + UPPER + DIGITS),
  "frequent letters": () => one("eeeeetttaaaooiiinnnssshhrrddllcumwfgypbvk"),
  syllables: () => one("bcdfghjklmnpqrstvwxyz") + one("aeiou"),
  words: () => `${many(1 + below(8), () => one(LOWER))} `,
  "common pairs": () => one([...COMMON_PAIRS]),
  "words of common pairs": () => ` ${many(1 + below(4), () => one([...COMMON_PAIRS]))}`,
  "common words": () => one([" ", "", "(", ".", "_", "-", "\n"]) + one([...COMMON_WORDS]),
  "words with capitals": () => one(UPPER) + many(below(5), () => one(LOWER)) + one([" ", "", "-", "_", "."]),
  "single letters": () => `${one(LOWER)} `,
  digits: () => one(DIGITS),
  "single digits": () => one(DIGITS) + one([" ", ", ", ".", "-", ":"]),
  hexadecimal: () => one(`${DIGITS}abcdef`),
  base64: () => one(`${LOWER + UPPER + DIGITS}+/`),
  punctuation: () => one(MARKS),
  "single punctuation": () => `${one(MARKS)} `,
  ASCII: between(32, 126),
  "white space": () => one(" \n\t "),
  "control characters": between(0, 31),
};
const ranges: Record<string, readonly [low: number, high: number]> = {
  "Latin 1": [0xa0, 0xff],
  "Latin extended": [0x100, 0x24f],
  Greek: [0x391, 0x3c9],
  Cyrillic: [0x400, 0x4ff],
  Hebrew: [0x5d0, 0x5ea],
  Arabic: [0x621, 0x64a],
  Devanagari: [0x905, 0x939],
  Thai: [0xe01, 0xe3a],
  Georgian: [0x10d0, 0x10f0],
  Ethiopic: [0x1200, 0x1340],
  symbols: [0x2190, 0x27bf],
  kana: [0x3041, 0x30fe],
  "Chinese characters": [0x4e00, 0x9fa5],
  Hangul: [0xac00, 0xd7a3],
  emoji: [0x1f300, 0x1f64f],
  "private use": [0xe000, 0xe100],
  "planes beyond the first": [0x10000, 0x2ffff],
};

/** Each a few times, short and long; and mixtures of them. */
function randomTexts(): Kind[] {
  state = 12_345;
  const sizes = [20, 20, 60, 60, 200, 600];
  const all = { ...units };
  for (const [name, [low, high]] of Object.entries(ranges)) all[name] = between(low, high);
  const makers = Object.values(all);
  all["mixtures of all of these"] = () => many(1 + below(4), makers[below(makers.length)] ?? (() => ""));
  return Object.entries(all).map(([name, make]) => [`random: ${name}`, sizes.map((size) => many(size, make))]);
}

/** The first article of the Universal Declaration of Human Rights: the same sentences in each language. */
const articles: Record<string, string> = {
  English:
    "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.",
  German:
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geiste der Brüderlichkeit begegnen.",
  French:
    "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.",
  Spanish:
    "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
  Portuguese:
    "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de consciência, devem agir uns para com os outros em espírito de fraternidade.",
  Italian:
    "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.",
  Dutch:
    "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen.",
  Swedish:
    "Alla människor är födda fria och lika i värde och rättigheter. De är utrustade med förnuft och samvete och bör handla gentemot varandra i en anda av broderskap.",
  Finnish:
    "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.",
  Polish:
    "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
  Czech:
    "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství.",
  Hungarian:
    "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.",
  Turkish:
    "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler.",
  Vietnamese:
    "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. Mọi con người đều được tạo hóa ban cho lý trí và lương tâm và cần phải đối xử với nhau trong tình anh em.",
  Indonesian:
    "Semua orang dilahirkan merdeka dan mempunyai martabat dan hak-hak yang sama. Mereka dikaruniai akal dan hati nurani dan hendaknya bergaul satu sama lain dalam semangat persaudaraan.",
  Swahili:
    "Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri, hivyo yapasa watendeane kindugu.",
  Russian:
    "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.",
  Ukrainian:
    "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і повинні діяти у відношенні один до одного в дусі братерства.",
  Greek:
    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.",
  Hebrew:
    "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה.",
  Arabic:
    "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا بروح الإخاء.",
  Persian:
    "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل و وجدان هستند و باید نسبت به یکدیگر با روح برادری رفتار کنند.",
  Hindi:
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।",
  Bengali:
    "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে। তাঁদের বিবেক এবং বুদ্ধি আছে; সুতরাং সকলেরই একে অপরের প্রতি ভ্রাতৃত্বসুলভ মনোভাব নিয়ে আচরণ করা উচিত।",
  Tamil:
    "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும், உரிமைகளிலும் சமமானவர்கள். அவர்கள் நியாயத்தையும் மனச்சாட்சியையும் இயற்பண்பாகப் பெற்றவர்கள்.",
  Thai: "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ",
  Chinese: "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
  Japanese:
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
  Korean:
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.",
  Georgian:
    "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით. მათ მინიჭებული აქვთ გონება და სინდისი და ერთმანეთის მიმართ უნდა იქცეოდნენ ძმობის სულისკვეთებით.",
  Amharic: "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው። የተፈጥሮ ማስተዋልና ሕሊና ስላለው አንዱ ሌላውን በወንድማማችነት መንፈስ መመልከት ይገባዋል።",
};
