// A browser starts no worker for a page that is opened from the file system, and the search is one: there its script
// runs in a hidden frame of the page, with the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.body.appendChild(Object.assign(document.createElement("iframe"), { hidden: true }));
      const inside = this.frame.contentWindow;
      const answer = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inside.document.open();
      inside.document.write("<html><body></body></html>");
      inside.document.close();
      inside.postMessage = answer;
      const load = (address) => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: address, onload: done, onerror: failed });
        inside.document.body.appendChild(script);
      });
      inside.importScripts = (...all) => all.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
      this.ready = load(url);
    }
    postMessage(data) {
      const sent = structuredClone(data);
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data: sent })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
