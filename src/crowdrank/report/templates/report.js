"use strict";
(() => {
  const PAGE = 50;
  const MANY = 1000; // more rows at once would keep a browser busy for seconds
  const data = JSON.parse(document.getElementById("data").textContent);
  const collator = new Intl.Collator("en", { numeric: true });
  const find = (selector, root = document) => root.querySelector(selector);
  const whole = (value) => value.toLocaleString("en");
  const signed = (value, decimals) =>
    value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replace("-", "−");
  const plural = (count, noun) => `${whole(count)} ${count === 1 ? noun : noun.replace(/y$/, "ie") + "s"}`;

  /** An element. Ids of items and workers are only ever inserted as text. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== "") element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  function makeSvg(tag, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // ------------------------------------------------------------------------------- intervals

  const place = (value, axis) => Math.min(Math.max((100 * (value - axis.low)) / (axis.high - axis.low), 0), 100);

  function interval(low, high, decimals) {
    if (low === null && high === null) return "not bounded";
    if (low === null) return `up to ${signed(high, decimals)}`;
    return high === null ? `${signed(low, decimals)} or more` : `${signed(low, decimals)} to ${signed(high, decimals)}`;
  }

  function bar(low, high, mark, axis) {
    const words = interval(low, high, axis.decimals);
    const left = low === null ? 0 : place(low, axis);
    const right = high === null ? 100 : place(high, axis);
    const open = [low === null && "open-low", high === null && "open-high"];
    const reach = make("i", { class: open.filter(Boolean).join(" ") });
    Object.assign(reach.style, { left: `${left}%`, width: `${right - left}%` });
    const point = make("b");
    point.style.left = `${place(mark, axis)}%`;
    return cell("bar", make("div", { class: "track", title: words }, reach, point, make("span", { class: "unseen" }, words)));
  }

  function setAxis(table, axis) {
    table.style.setProperty("--ticks", axis.ticks.map((tick) => `${place(tick, axis)}% 0`).join() || "0 0");
    const labels = axis.ticks.map((tick) => {
      const label = make("span", {}, `${tick}`.replace("-", "−"));
      label.style.left = `${place(tick, axis)}%`;
      return label;
    });
    find(".axis", table).replaceChildren(...labels);
  }

  const width = ({ low, high }, row) => (low[row] === null || high[row] === null ? Infinity : high[row] - low[row]);
  const cell = (kind, ...content) => make("td", { class: kind }, ...content);
  const number = (value, kind = "num wide") => cell(kind, value === null ? "–" : whole(value));
  /** A long name is cut by the style; the hint and the focus show the whole. */
  const nameOf = (text) => make("bdi", text.length > 40 ? { class: "long", tabindex: "0", title: text } : {}, text);
  const name = (text, small) =>
    make("th", { scope: "row", class: "name" }, nameOf(text), make("span", { class: "small" }, small));

  // ---------------------------------------------------------------------------------- tables

  /** A table that sorts by its headings, searches, and shows a page of rows at a time. */
  class Grid {
    constructor(section, noun, key, page = PAGE) {
      Object.assign(this, { section, noun, key, page, down: false, limit: page, text: [] });
      this.body = find("tbody", section);
      this.input = find("input[type=search]", section);
      this.more = find(".more", section);
      this.heads = [...section.querySelectorAll("th[data-key]")];
      for (const head of this.heads) this.addButton(head);
      find(".controls", section).hidden = false;
      this.input.addEventListener("input", () => this.restart());
    }

    addButton(head) {
      const label = find(".label", head);
      const button = make("button", { type: "button" }, ...label.cloneNode(true).childNodes);
      label.before(button); // the label itself is for printing
      button.addEventListener("click", () => {
        this.down = this.key === head.dataset.key ? !this.down : false;
        this.key = head.dataset.key;
        this.restart();
      });
    }

    /** Show these rows: `value(row, key)` is what a column sorts by, `draw(row)` the table row. */
    load({ count, text, value, draw, kind = () => "", fold = () => null }) {
      Object.assign(this, { count, value, draw, kind, fold, unfolded: new Set() });
      this.text = Array.from({ length: count }, (_, row) => text(row).toLowerCase());
      this.input.value = "";
      this.restart();
    }

    restart() {
      this.limit = this.page;
      const needle = this.input.value.trim().toLowerCase();
      this.rows = [...this.text.keys()].filter((row) => this.text[row].includes(needle));
      const values = this.rows.length ? this.text.map((_, row) => this.value(row, this.key)) : [];
      const compare = typeof values[0] === "string" ? collator.compare : (a, b) => (a === b ? 0 : a - b);
      const sign = this.down ? -1 : 1;
      this.rows.sort((a, b) => sign * compare(values[a], values[b]) || a - b);
      this.show();
    }

    show() {
      const shown = this.visible().slice(0, this.limit);
      this.body.replaceChildren(...shown.map((row, at) => this.row(row, at ? shown[at - 1] : null)));
      for (const head of this.heads) {
        if (head.dataset.key === this.key) head.setAttribute("aria-sort", this.down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      }
      const all = plural(this.count, this.noun);
      const some = this.rows.length ? `${whole(this.rows.length)} of ${all}` : `None of ${all} match.`;
      const found = this.rows.length < this.count ? some : all;
      find(".count", this.section).textContent = found;
      this.offerMore();
    }

    /** The rows that are not folded away; `{ fold }` stands for the rest of a group, which a button unfolds. */
    visible() {
      const whole = this.limit === Infinity || this.input.value.trim() || this.down;
      const found = [];
      for (const row of this.rows) {
        const fold = whole ? null : this.fold(row, this.key);
        if (fold === null || this.unfolded.has(fold.group)) found.push(row);
        else if (fold.first) found.push({ fold });
      }
      return found;
    }

    foldedRow({ group, words, button }) {
      const element = make("button", { type: "button" }, button);
      element.addEventListener("click", () => {
        this.unfolded.add(group);
        const at = [...this.body.rows].findIndex((row) => row.contains(element));
        this.show();
        this.body.rows[at].tabIndex = -1;
        this.body.rows[at].focus({ preventScroll: true });
      });
      const columns = this.heads.filter((head) => head.offsetParent !== null).length;
      return make("tr", { class: "fold" }, make("td", { colspan: columns }, words, element));
    }

    row(row, before) {
      if (row.fold) return this.foldedRow(row.fold);
      const element = this.draw(row);
      element.className = this.kind(row, before, this.key);
      return element;
    }

    offerMore() {
      const left = this.visible().length - this.limit;
      this.more.hidden = left <= 0;
      this.more.replaceChildren();
      const offer = (words, limit) => {
        const button = make("button", { type: "button" }, words);
        button.addEventListener("click", () => {
          const next = this.limit;
          this.limit = limit;
          this.show();
          const first = this.body.rows[next];
          first.tabIndex = -1; // the button is gone, so keyboard focus moves to the first new row
          first.focus({ preventScroll: true });
        });
        this.more.append(button);
      };
      if (left > PAGE) offer(`Show ${PAGE} more`, this.limit + PAGE);
      if (left > MANY) offer(`Show ${whole(MANY)} more`, this.limit + MANY);
      else if (left > 0) offer(`Show all ${plural(this.rows.length, this.noun)}`, Infinity);
    }

    /** Printing shows all rows. */
    print(printing) {
      if (printing) this.before ??= this.limit;
      this.limit = printing ? Infinity : (this.before ?? this.limit);
      if (!printing) this.before = undefined;
      this.show();
    }
  }

  // --------------------------------------------------------------------------------- ranking

  const ranking = new Grid(find("#ranking"), "item", "rank", find("#queries") ? 20 : PAGE);
  const [MANY_TIED, TIED] = [20, 10]; // of a tier of more than 20 items, the first 10 are shown

  /** Folds the rest of a large tier: its items cannot be told apart, so their order says nothing. */
  function foldTier(query, row, key) {
    const tier = query.tier[row];
    const [start, size] = query.tierRuns[row];
    if (key !== "rank" || size <= MANY_TIED || row < start + TIED) return null;
    const more = whole(size - TIED);
    const words = `Ranks ${whole(start + TIED + 1)} to ${whole(start + size)}: ${more} more items of tier ${tier}, which cannot be told apart from its best one.`;
    return { group: start, first: row === start + TIED, words, button: "Show them" };
  }

  /** For each row, where the run of rows of its tier begins, and how long it is. */
  function tierRuns(query) {
    const found = [];
    query.tier.forEach((tier, row) => {
      const run = row && query.tier[row - 1] === tier ? found[row - 1] : [row, 0];
      run[1] += 1;
      found.push(run);
    });
    return found;
  }

  /** The tier of a row; tiers are counted within a group of linked items. */
  const tierWords = (query, row) => (query.group ? `${query.tier[row]} of group ${whole(query.group[row])}` : `${query.tier[row]}`);

  /** Bands mark tiers in every order; a line also separates them if the rows are in tier order. Neither is shown
   * if there are groups: a tier of one group is not below a tier of another. */
  function tierClass(query, row, before, key) {
    if (query.group) return "";
    const ordered = key === "rank" || key === "tier";
    const starts = ordered && typeof before === "number" && query.tier[row] !== query.tier[before];
    return [starts && "tier-start", query.tier[row] % 2 === 0 && "band"].filter(Boolean).join(" ");
  }

  const withProbability = (value, probability) => `${value} (${signed(probability, 2)})`.replace("-", "−");

  function showRanking(query) {
    setAxis(find("#items"), query.axis);
    find(".headline").textContent = query.headline;
    query.tierRuns ??= tierRuns(query);
    ranking.load({
      count: query.item.length,
      text: (row) => query.item[row],
      value: (row, key) => (key === "rank" ? row : key === "width" ? width(query, row) : query[key][row]),
      kind: (row, before, key) => tierClass(query, row, before, key),
      fold: (row, key) => foldTier(query, row, key),
      draw: (row) => {
        const [tier, between] = [tierWords(query, row), `${query.rank_low[row]}–${query.rank_high[row]}`];
        const label = query.label ? withProbability(query.label[row], query.probability[row]) : null;
        const small = `tier ${tier}, rank ${between}${label === null ? "" : `, label ${label}`}`;
        return make(
          "tr", {}, number(row + 1, "num"), cell("num wide", between), cell("num wide", tier),
          name(query.item[row], small), cell("num", signed(query.score[row], query.axis.decimals)),
          bar(query.low[row], query.high[row], query.score[row], query.axis),
          number(query.comparisons[row]), ...(query.opponents ? [number(query.opponents[row])] : []),
          ...(label === null ? [] : [cell("num wide", label)]),
        );
      },
    });
  }

  // --------------------------------------------------------------------------------- workers

  const grids = [ranking];

  function showWorkers(people) {
    const verdictOf = (row) => data.verdicts[people.verdict[row]];
    const grid = new Grid(find("#workers"), "worker", "quality");
    grids.push(grid);
    const own = Object.keys(people).filter((key) => key.startsWith("own-"));
    grid.load({
      count: people.worker.length,
      text: (row) => `${people.worker[row]} ${verdictOf(row)}`,
      value: (row, key) => (key === "width" ? width(people, row) : people[key][row]),
      draw: (row) => {
        const verdict = verdictOf(row);
        const further = own.map((key) => people[key][row]);
        return make(
          "tr", {}, name(people.worker[row], plural(people.judgments[row], "judgment")),
          cell("verdict", make("span", { class: verdict }, verdict)), cell("num", signed(people.quality[row], 2)),
          bar(people.low[row], people.high[row], people.quality[row], data.quality), number(people.judgments[row]),
          ...further.map((value) => cell("num wide own", value === null ? "–" : signed(value, 2))),
        );
      },
    });
  }

  // ---------------------------------------------------------------------------------- skills

  /** A worker in a domain: the quality sets the hue; the wider the interval, the fainter the color. */
  function skillCell(skills, row, domain) {
    const [quality, low, high] = [skills.quality, skills.low, skills.high].map((values) => values[row][domain]);
    const verdict = data.verdicts[skills.verdict[row][domain]];
    const words = interval(low, high, 2);
    const element = cell(
      `skill ${quality >= 0.5 ? "up" : "down"}`, make("span", { class: verdict }, signed(quality, 2)),
      make("span", { class: "unseen" }, `${verdict},`), make("span", { class: "between" }, words),
    );
    element.title = `Domain ${domain + 1}: ${verdict}, ${words}; judgments: ${whole(skills.judgments[row][domain])}`;
    const known = low === null || high === null ? 0 : Math.max(1 - (high - low), 0);
    element.style.setProperty("--far", `${Math.round(Math.min(250 * Math.abs(quality - 0.5), 100))}%`);
    element.style.setProperty("--sure", `${Math.round(60 * known)}%`);
    return element;
  }

  function showSkills(skills) {
    const grid = new Grid(find("#skills"), "worker", "judgments", 40);
    grids.push(grid);
    grid.down = true;
    const column = (row, key) => skills.quality[row][Number(key.replace("domain-", "")) - 1];
    grid.load({
      count: skills.worker.length,
      text: (row) => skills.worker[row],
      value: (row, key) => ({ worker: skills.worker[row], judgments: skills.total[row] })[key] ?? column(row, key),
      draw: (row) =>
        make(
          "tr", {}, make("th", { scope: "row", class: "name" }, nameOf(skills.worker[row])),
          ...skills.quality[row].map((_, domain) => skillCell(skills, row, domain)), number(skills.total[row], "num"),
        ),
    });
  }

  // ------------------------------------------------------------------------------ connections

  /** A sentence with its placeholders replaced by figures. */
  const fill = (sentence, figures) => sentence.replace(/{(\w+)}/g, (_, key) => figures[key]);

  /** A square for each pair of items, or of runs of neighbors in rank: `look(row, column, value)` gives its looks. */
  function squares(query, { side, cells }, description, look) {
    const size = 400 / side;
    const svg = makeSvg("svg", { viewBox: "-34 -22 438 426", role: "img", "aria-label": description });
    let at = 0;
    for (let row = 0; row < side; row += 1) {
      for (let column = row; column < side; column += 1) {
        const value = cells[at++];
        if (row === column && side === query.items) continue;
        for (const [x, y] of row === column ? [[row, row]] : [[row, column], [column, row]]) {
          const box = { x: x * size, y: y * size, width: size * 0.94, height: size * 0.94 };
          const { words, text, ...looks } = look(y, x, value);
          svg.append(makeSvg("rect", { ...box, ...looks }, makeSvg("title", {}, words)));
          if (text && size >= 30) {
            const middle = { x: (x + 0.47) * size, y: (y + 0.47) * size + 4, "text-anchor": "middle" };
            svg.append(makeSvg("text", { class: "c-text c-name", ...middle }, text));
          }
        }
      }
    }
    const every = Math.ceil(side / 8);
    for (let mark = 0; mark < side; mark += every) {
      const middle = (mark + 0.5) * size;
      svg.append(makeSvg("text", { x: middle, y: -8, "text-anchor": "middle" }, `${firstRank(query, mark)}`));
      svg.append(makeSvg("text", { x: -8, y: middle + 4, "text-anchor": "end" }, `${firstRank(query, mark)}`));
    }
    return svg;
  }

  /** Who was compared with whom. */
  function counts(query) {
    const most = Math.max(...query.matrix.cells, 1);
    const look = (row, column, votes) => ({
      words: `Ranks ${ranks(query, row)} and ${ranks(query, column)}: ${plural(votes, data.unit.noun)}`,
      ...(votes ? { class: "cell", "fill-opacity": (0.15 + 0.85 * Math.sqrt(votes / most)).toFixed(2) } : { class: "none" }),
    });
    const svg = squares(query, query.matrix, description(query), look);
    svg.append(...query.next.map((pair, place) => asked(query, pair, place)));
    return make("figure", { class: "map" }, caption(query, most), svg);
  }

  /** The outline of the square that a pair to ask about belongs to. */
  function asked(query, [one, other], place) {
    const [size, side] = [400 / query.matrix.side, query.matrix.side];
    const [y, x] = [one, other].map((rank) => Math.floor(((rank - 1) * side) / query.items) * size);
    const words = `Ask about ranks ${one} and ${other}: ${place + 1} of ${query.next.length} next votes`;
    return makeSvg("rect", { class: "asked", x: x + 1, y: y + 1, width: size * 0.94 - 2, height: size * 0.94 - 2 }, makeSvg("title", {}, words));
  }

  /** Who is better than whom, with which probability. */
  function chances(query) {
    const look = (row, column, value) => {
      const chance = row <= column ? value : 1 - value;
      const words = `P(rank ${middleRank(query, row)} is better than rank ${middleRank(query, column)}) = ${signed(chance, 2)}`;
      const text = signed(chance, 2).replace(/^0\./, ".");
      return { words, text, class: chance >= 0.5 ? "c-ahead" : "c-behind", "fill-opacity": Math.abs(2 * chance - 1).toFixed(2) };
    };
    const each = query.matrix.side === query.items ? "an item" : "the item in the middle of a run of neighbors";
    return make(
      "figure", { class: "map" },
      make(
        "figcaption", {}, make("strong", {}, "P(row is better than column)"),
        make("p", {}, `Each row and column is ${each}, best first. Blue: the row is better; red: the column is. The paler a square, the less certain it is which one is better.`),
      ),
      squares(query, query.ahead, "Probability that the row is better than the column, in the order of the ranking", look),
    );
  }

  const middleRank = (query, bin) => Math.floor((firstRank(query, bin) + firstRank(query, bin + 1) - 1) / 2);
  const firstRank = (query, bin) => Math.ceil((bin * query.items) / query.matrix.side) + 1;

  function ranks(query, bin) {
    const [first, last] = [firstRank(query, bin), firstRank(query, bin + 1) - 1];
    return first === last ? `${first}` : `${first}–${last}`;
  }

  function pairsSentence(query) {
    const [pairs, possible] = query.pairs;
    const figures = { pairs: whole(pairs), possible: plural(possible, "possible pair"), were: possible === 1 ? "was" : "were" };
    return `${fill(data.unit.together, figures)}.`;
  }

  function description(query) {
    return `${data.unit.picture}, in the order of the ranking: ${pairsSentence(query)}`;
  }

  function caption(query, most) {
    const judgments = `${data.unit.noun}s`;
    const each = query.matrix.side === query.items ? "an item" : "a run of neighbors in rank";
    return make(
      "figcaption", {}, make("strong", {}, data.unit.picture),
      make("p", {}, `Each row and column is ${each}, best first.`),
      make("p", {}, `The stronger its color, the more ${judgments} a square has: from none to ${whole(most)}.`),
      ...(query.next.length ? [make("p", {}, `Outlined: where the next ${judgments} say most, ${plural(query.next.length, "pair")}.`)] : []),
      make("p", { class: "note" }, `Squares along the diagonal are close in rank: ${judgments} there settle the order.`),
    );
  }

  function showConnections(query) {
    find("#picture").hidden = false;
    const words = find("#picture .links");
    if (words) words.textContent = summary(query);
    const none = make("p", { class: "note" }, "To keep the page small, this query has no picture.");
    const drawn = query.matrix ? [counts(query), ...(query.ahead ? [chances(query)] : [])] : [none];
    find("#picture .maps").replaceChildren(...drawn);
  }

  function summary(query) {
    const [least, median, most] = query.votes.map(whole);
    const groups = query.groups === 1 ? "One group" : plural(query.groups, "group");
    const span = least === most ? plural(query.votes[0], data.unit.noun) : `${least} to ${most} (median ${median}) ${data.unit.noun}s`;
    return `${groups}. ${pairsSentence(query)} ${fill(data.unit.each, { span })}`;
  }

  // --------------------------------------------------------------------------------- queries

  const numbers = new Map(data.queries.map((query, at) => [query.name, at]));
  const address = (query) => `#query=${encodeURIComponent(query.name)}`;

  function pick(at) {
    const query = data.queries[at];
    for (const place of document.querySelectorAll(".picked")) place.textContent = query.name;
    const picker = find("#pick");
    if (picker) picker.value = query.name;
    showRanking(query);
    if (query.groups) showConnections(query);
  }

  function pickedQuery() {
    const match = /^#query=(.*)$/.exec(location.hash);
    try {
      return match && numbers.get(decodeURIComponent(match[1]));
    } catch {
      return undefined; // the address is malformed
    }
  }

  function choose(value) {
    const known = numbers.has(value);
    find(".wrong").textContent = known ? "" : "There is no such query here.";
    if (known) location.hash = address(data.queries[numbers.get(value)]);
  }

  function showQueries() {
    const picker = find("#pick");
    const list = find("#names") ?? picker;
    list.append(...data.queries.map((query) => make("option", { value: query.name }, query.name)));
    find(".picker").hidden = false;
    picker.addEventListener("change", () => choose(picker.value));
    const grid = new Grid(find("#queries"), "query", "query", 10);
    const values = { query: (query) => query.name, best: (query) => query.item[0] };
    grid.load({
      count: data.queries.length,
      text: (row) => data.queries[row].name,
      value: (row, key) => (values[key] ? values[key](data.queries[row]) : data.queries[row][key]),
      draw: (row) => {
        const query = data.queries[row];
        const link = make("a", { href: address(query) }, make("bdi", { title: query.name }, query.name));
        const [difficulty, between] = query.difficulty_words ?? [];
        const domain = query.domain ? withProbability(query.domain, query.certainty) : null;
        const small = `difficulty ${difficulty}${domain === null ? "" : `, domain ${domain}`}`;
        return make(
          "tr", {}, make("th", { scope: "row", class: "name" }, link, ...(query.difficulty_words ? [make("span", { class: "small" }, small)] : [])),
          number(query.items, "num"), number(query.tiers, "num"), ...(query.groups ? [number(query.groups)] : []),
          ...(query.difficulty_words ? [cell("num wide", difficulty), cell("num wide own", between)] : []),
          ...(domain === null ? [] : [cell("num wide", domain)]), cell("name wide", nameOf(query.item[0])),
        );
      },
    });
    addEventListener("hashchange", () => {
      const at = pickedQuery();
      if (at === undefined || at === null) return;
      pick(at);
      if (document.activeElement !== picker) go(find("#ranking"));
    });
  }

  function go(section) {
    section.scrollIntoView();
    section.focus({ preventScroll: true });
  }

  /** Links to sections do not change the address, which holds the picked query. */
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go(find(link.getAttribute("href")));
    });
  }

  find("#unscripted").remove();
  if (find("#queries")) showQueries();
  if (data.workers) showWorkers(data.workers);
  if (data.skills) showSkills(data.skills);
  pick(pickedQuery() ?? 0);
  matchMedia("(max-width: 52rem)").addEventListener("change", () => ranking.show()); // other columns are visible
  const paper = matchMedia("print");
  paper.addEventListener("change", () => grids.forEach((grid) => grid.print(paper.matches)));
  addEventListener("beforeprint", () => grids.forEach((grid) => grid.print(true)));
  addEventListener("afterprint", () => grids.forEach((grid) => grid.print(false)));
})();
