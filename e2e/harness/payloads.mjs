// Three hundred texts that try to become markup or script. Each tries to call `__trap` with its number, to open a
// dialog, or to request `/<number>` from a server of the test.

export const COUNT = 300;

/**
 * @typedef {object} Payload
 * @property {number} number
 * @property {string} text
 * @property {boolean} fires whether it always calls `__trap` if it is treated as markup; others may, too
 */

/** @param {string} origin of the server that must get no requests @returns {Payload[]} */
export function payloads(origin) {
    const made = [];
    const add = (make, fires = false) => {
        const number = made.length;
        made.push({ number, text: make(call(number), number), fires });
    };
    for (const template of TEMPLATES) {
        for (const [at, deed] of DEEDS.entries()) {
            add((_, number) => template.make(deed(number, origin), `${origin}/${number}`), template.fires && at < FIRING_DEEDS);
        }
    }
    ENCODINGS.forEach((encode) => BASES.forEach((base) => add((deed) => encode(base(deed)))));
    LANGUAGES.forEach((make) => add((deed, number) => make(deed, `${origin}/${number}`)));
    STYLES.forEach((make) => add((deed, number) => make(deed, `${origin}/${number}`)));
    MUTATIONS.forEach((make) => add((deed) => make(`<img src=x onerror=${deed}>`)));
    DISGUISES.forEach((disguise) => add((deed) => disguise(`<img src=x onerror=${deed}>`, deed)));
    LENGTHS.forEach((lengthen) => add((deed) => lengthen(`<img src=x onerror=${deed}>`), true));
    return made;
}

/** What remains of a text in a file name. SillyTavern truncates names, and no system allows a slash. */
export function asFileName(text, bytes = 180) {
    const possible = text.replace(/[/\0]/g, '').trim();
    let name = '';
    for (const sign of possible) {
        if (Buffer.byteLength(name + sign) > bytes) {
            break;
        }
        name += sign;
    }
    // Two texts may only differ in what was cut off, and some systems ignore case.
    return `${name} ${hash(text)}`;
}

/** What remains of it after SillyTavern has made a file name of it; entities and braces survive. */
export function asSavedName(text) {
    return asFileName(text.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replace(/[\x00-\x1f\x80-\x9f:"\\|?*]/g, ''), 120);
}

function hash(text) {
    let sum = 0;
    for (const sign of text) {
        sum = (Math.imul(sum, 31) + sign.codePointAt(0)) >>> 0;
    }
    return sum.toString(36);
}

const call = (number) => `__trap(${number})`;

/** What a payload does once it runs. The last ones are listed only: where they run varies. */
const DEEDS = [
    (number) => call(number),
    (number) => `window['__trap'](${number})`,
    (number) => `\\u005f_trap(${number})`,
    (number) => `eval(atob('${btoa(call(number))}'))`,
    (number, origin) => `new Image().src='${origin}/${number}'`,
    (number) => `alert(${number})`,
];
const FIRING_DEEDS = 4;

const runs = (make) => ({ make, fires: true });
const waits = (make) => ({ make, fires: false });

const TEMPLATES = [
    waits((deed) => `<script>${deed}</script>`),
    waits((deed) => `<SCRIPT SRC="data:text/javascript,${deed}"></SCRIPT>`),
    runs((deed) => `<img src=x onerror="${deed}">`),
    runs((deed) => `<IMG SRC=x:x OnErRoR="${deed}"/>`),
    waits((deed) => `<svg onload="${deed}">`),
    waits((deed) => `<svg/onload="${deed}"//>`),
    waits((deed) => `<body onload="${deed}">`),
    runs((deed) => `<iframe onload="${deed}"></iframe>`),
    runs((deed) => `<iframe srcdoc="&lt;script&gt;parent.${deed}&lt;/script&gt;"></iframe>`),
    runs((deed) => `<iframe src="javascript:parent.${deed}"></iframe>`),
    runs((deed) => `<details open ontoggle="${deed}">`),
    runs((deed) => `<video><source src=x onerror="${deed}"></video>`),
    runs((deed) => `<audio src=x onerror="${deed}"></audio>`),
    waits((deed) => `<input autofocus onfocus="${deed}">`),
    waits((deed) => `<object data="javascript:${deed}"></object>`),
    waits((deed) => `<embed src="javascript:${deed}">`),
    waits((deed) => `<a href="javascript:${deed}">press me</a>`),
    waits((deed) => `<form action="javascript:${deed}"><button>press me</button></form>`),
    waits((deed) => `<button formaction="javascript:${deed}">press me</button>`),
    runs((deed) => `"><img src=x onerror="${deed}">`),
    waits((deed) => `' onmouseover='${deed}' onfocus='${deed}' tabindex=0 x='`),
    waits((deed) => `" autofocus onfocus="${deed}" x="`),
    runs((deed) => `</option></select><img src=x onerror="${deed}">`),
    waits((deed) => `</textarea></title></style><svg onload="${deed}">`),
    runs((deed) => `--><img src=x onerror="${deed}"><!--`),
    waits((deed, url) => `<meta http-equiv=refresh content="0;url=${url}">${deed}`),
    waits((deed, url) => `<base href="${url}/"><link rel=stylesheet href="${url}">${deed}`),
    waits((deed) => `<template shadowrootmode=open><img src=x onerror="${deed}"></template>`),
    runs((deed) => `<custom-element><slot><img src=x onerror="${deed}"></slot></custom-element>`),
    waits((deed, url) => `<img src="${url}" srcset="${url} 2x">${deed}`),
];

const BASES = [
    (deed) => `<img src=x onerror=${deed}>`,
    (deed) => `<script>${deed}</script>`,
    (deed) => `<a href=javascript:${deed}>x</a>`,
    (deed) => `"><svg onload=${deed}>`,
];

const each = (text, encode) => [...text].map((sign) => encode(sign, sign.codePointAt(0))).join('');

const ENCODINGS = [
    (text) => each(text, (_, code) => `&#${code};`),
    (text) => each(text, (_, code) => `&#x${code.toString(16)}`),
    (text) => text.replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
    (text) => text.replaceAll('<', '&amp;lt;').replaceAll('>', '&amp;gt;'),
    (text) => each(text, (_, code) => `%${code.toString(16).padStart(2, '0')}`),
    (text) => each(text, (_, code) => `\\u${code.toString(16).padStart(4, '0')}`),
    (text) => each(text, (_, code) => `\\x${code.toString(16)}`),
    (text) => each(text, (sign, code) => (code > 0x20 ? String.fromCodePoint(code + 0xfee0) : sign)),
    (text) => text.replaceAll('<', '<\0').replaceAll('=', '\0='),
    (text) => text.replaceAll('script', 'scr\tipt').replaceAll('on', 'o\nn'),
];

const LANGUAGES = [
    (deed) => `{{constructor.constructor('${deed}')()}}`,
    (deed) => `{{#with "s" as |string|}}{{lookup string.sub "constructor"}}${deed}{{/with}}`,
    (deed) => `{{{${deed}}}}`,
    (deed) => `{{user}} {{char}} {{pipe}} {{// ${deed} }}`,
    (deed) => `{{setvar::x::${deed}}}{{getvar::x}}`,
    (deed) => `\${${deed}}`,
    (deed) => `<%= ${deed} %>`,
    (deed) => `#{${deed}}`,
    (deed) => `{${deed}} {book} {name} {count|one|many} {text}`,
    (deed) => `$& $1 $\` $' $$ ${deed}`,
    (deed) => `[press me](javascript:${deed})`,
    (deed) => `[press me]: javascript:${deed} "x"`,
    (deed, url) => `![picture](${url})`,
    (deed, url) => `![picture](${url}"onerror="${deed})`,
    (deed) => `<javascript:${deed}>`,
    (deed) => `\`\`\`html\n<img src=x onerror=${deed}>\n\`\`\``,
    (deed) => `**bold** _italics_ ~~gone~~ # heading <b>${deed}</b>`,
    (deed) => `/run ${deed} | /echo ${deed} {: /abort :}`,
    (deed) => `__proto__ constructor toString ${deed}`,
    (deed) => `javascript:${deed}//`,
    (deed) => `data:text/html,<script>opener.${deed}</script>`,
    (deed) => `\\"; ${deed}; //`,
    (deed) => `');${deed};('`,
    (deed) => `null undefined NaN [object Object] ${deed}`,
];

const STYLES = [
    (deed, url) => `<div style="background:url(${url})">${deed}</div>`,
    (deed, url) => `<style>*{background-image:url(${url})}</style>${deed}`,
    (deed, url) => `<style>@import '${url}';</style>${deed}`,
    (deed, url) => `";background:url(${url});x:"${deed}`,
    (deed) => `</style><script>${deed}</script><style>`,
    (deed) => `<p style="width:expression(${deed})">`,
    (deed) => `<p style="animation:fa-spin 1s" onanimationstart="${deed}">`,
    (deed, url) => `<table background="${url}"><td background="${url}">${deed}`,
    (deed) => `<div style="position:fixed;inset:0;z-index:99999" onpointermove="${deed}">over everything</div>`,
    (deed, url) => `<svg><image href="${url}" onerror="${deed}"/><use href="${url}#x"/></svg>`,
];

const MUTATIONS = [
    (image) => `<math><mtext><table><mglyph><style><!--</style>${image}-->`,
    (image) => `<math><mtext></p><mglyph><svg><mtext><style><path id="</style>${image}">`,
    (image) => `<form><math><mtext></form><form><mglyph><style></math>${image}`,
    (image) => `<svg></p><style><a id="</style>${image}">`,
    (image) => `<svg><style>${image}</style></svg>`,
    (image) => `<svg><foreignObject>${image}</foreignObject></svg>`,
    (image) => `<svg><desc><svg><title><style></title>${image}</style>`,
    (image) => `<math><annotation-xml encoding="text/html">${image}</annotation-xml></math>`,
    (image) => `<noscript><p title="</noscript>${image}">`,
    (image) => `<noscript>&lt;/noscript&gt;${image}</noscript>`,
    (image) => `<xmp><p title="</xmp>${image}">`,
    (image) => `<noembed><p title="</noembed>${image}">`,
    (image) => `<noframes><p title="</noframes>${image}">`,
    (image) => `<iframe><p title="</iframe>${image}">`,
    (image) => `<plaintext>${image}`,
    (image) => `<listing>&lt;img onerror=x&gt;${image}</listing>`,
    (image) => `<title><a title="</title>${image}">`,
    (image) => `<select><template><style><!--</style><a rel="--></style></template></select>${image}">`,
    (image) => `<table><caption><svg><title><table><caption></caption></table>${image}</title></svg>`,
    (image) => `<![CDATA[ ${image} ]]>`,
    (image) => `<?xml version="1.0"?>${image}`,
    (image) => `<!DOCTYPE x [<!ENTITY y "${image}">]>&y;`,
];

const DISGUISES = [
    (image) => `\u202e${image}`,
    (image) => `harmless\u202egpj.${image}`,
    (image) => `\u2066\u2067\u202a\u202b\u202d${image}`,
    (image) => `שלום עולם ${image} مرحبا بالعالم`,
    (image) => `\u200b\u200c\u200d\u2060${image}\ufeff`,
    (image) => `\ufeff${image}`,
    (image) => image.replaceAll(' ', '\u00a0'),
    (image) => image.replaceAll(' ', '\u2028').replaceAll('=', '\u2029='),
    (image) => `\x01\x02\x07\x08\x1b[31m${image}\x7f\x85`,
    (image) => `\r\n\t${image}\r\n`,
    (image) => `＜img src=x onerror=1＞${image}`,
    (image) => `ﬁ ﬂ ſcript K Å ${image.replace('img', 'ımg')}`,
    (image) => `Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘ ${image}`,
    (image) => `👩‍👩‍👧‍👦🏴‍☠️🇩🇪 ${image}`,
    (image) => `\u{e0001}\u{e003c}\u{e0069}${image}`,
    (image) => `雨の夜 <${image} 「引用」 “quoted” ‘so’ «so»`,
    (image) => `\u0001${image}\u{10ffff}`,
    (image) => `COM1 NUL .. ~ ${image}`,
    (image) => `${image.replace('<', '<\u200b')}`,
];

const LENGTHS = [
    (image) => `${'A'.repeat(5000)}${image}`,
    (image) => `${'word '.repeat(2000)}${image}`,
    (image) => `${'<b>'.repeat(1000)}${image}`,
    (image) => `${'&'.repeat(3000)}${image}`,
    (image) => `${'雨'.repeat(4000)}${image}`,
];
