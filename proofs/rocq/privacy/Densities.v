(* Differential privacy of mechanisms whose outcome is a real number with a density: definitions, the Laplace mechanism,
   and the Gaussian pair. Integrals over the line are the improper Riemann integrals of Coquelicot. *)

From Coq Require Import Reals Psatz List.
From Coquelicot Require Import Coquelicot.
From Privacy Require Import FiniteLaws.
Open Scope R_scope.

(* 1. Densities, and the hockey-stick divergence of order c and the privacy profile of a pair of them. *)

Definition is_integral_over_line (f : R -> R) (value : R) : Prop :=
  is_RInt_gen f (Rbar_locally m_infty) (Rbar_locally p_infty) value.

Definition is_integral_above (a : R) (f : R -> R) (value : R) : Prop :=
  is_RInt_gen f (at_point a) (Rbar_locally p_infty) value.

Definition is_integral_below (a : R) (f : R -> R) (value : R) : Prop :=
  is_RInt_gen f (Rbar_locally m_infty) (at_point a) value.

Definition is_density (f : R -> R) : Prop := (forall x, 0 <= f x) /\ is_integral_over_line f 1.

Definition is_hockey_stick (c : R) (f g : R -> R) (value : R) : Prop :=
  is_integral_over_line (fun x => Rmax 0 (f x - c * g x)) value.

Definition is_profile (f g : R -> R) (epsilon delta : R) : Prop := is_hockey_stick (exp epsilon) f g delta.

Definition privacy_loss (f g : R -> R) (x : R) : R := ln (f x / g x).

(* 2. A mechanism gives each input a density. It is purely private if no density is ever more than e^epsilon times
   that of a neighbour. *)

Definition purely_private_density {Input : Type} (neighbours : Input -> Input -> Prop) (M : Input -> R -> R)
    (epsilon : R) : Prop :=
  forall x y, neighbours x y -> forall outcome, M x outcome <= exp epsilon * M y outcome.

Definition sensitivity_at_most {Input : Type} (neighbours : Input -> Input -> Prop) (f : Input -> R) (s : R) : Prop :=
  forall x y, neighbours x y -> Rabs (f x - f y) <= s.

(* 3. Laplace and Gaussian densities. *)

Definition laplace (scale mean x : R) : R := exp (- Rabs (x - mean) / scale) / (2 * scale).

Definition laplace_mechanism {Input : Type} (f : Input -> R) (scale : R) (x : Input) : R -> R := laplace scale (f x).

Definition gaussian (mean x : R) : R := exp (- (x - mean) ^ 2 / 2) / sqrt (2 * PI).

(* 4. Gaussian privacy (Dong, Roth and Su 2022, by corollary 2.13): at every order N(mu, 1) against N(0, 1) dominates. *)

Definition gaussian_private {Input A : Type} (outcomes : list A) (neighbours : Input -> Input -> Prop)
    (M : Input -> A -> R) (mu : R) : Prop :=
  forall x y c value, neighbours x y -> 0 <= c ->
    is_hockey_stick c (gaussian mu) (gaussian 0) value -> hockey_stick outcomes c (M x) (M y) <= value.

(* Integrals. *)

Lemma integral_by_antiderivative {Fa Fb : (R -> Prop) -> Prop} {FFa : Filter Fa} {FFb : Filter Fb} F f la lb :
  (forall x, is_derive F x (f x)) -> (forall x, continuous f x) ->
  filterlim F Fa (locally la) -> filterlim F Fb (locally lb) -> is_RInt_gen f Fa Fb (lb - la).
Proof.
  intros D C La Lb. assert (E : forall x, Derive F x = f x) by (intros; now apply is_derive_unique).
  apply (is_RInt_gen_ext (Derive F)); [apply filter_forall; intros; apply E|].
  apply is_RInt_gen_Derive; try assumption; apply filter_forall; intros ab x _.
  - eexists. apply D.
  - apply continuous_ext with f; [intros; now rewrite E|apply C].
Qed.

Lemma limit_at_point (F : R -> R) a : filterlim F (at_point a) (locally (F a)).
Proof. intros P HP. unfold filtermap, at_point. now apply locally_singleton. Qed.

Lemma below_ext (f g : R -> R) a l :
  (forall x, x < a -> f x = g x) -> is_integral_below a f l -> is_integral_below a g l.
Proof.
  intros E. unfold is_integral_below, is_integral_above.
  apply (is_RInt_gen_ext (V := R_NormedModule) f g l). apply Filter_prod with (fun u => u < a) (fun v => v = a).
  - now exists a.
  - reflexivity.
  - simpl. intros u v U -> x [_ H]. apply E. rewrite Rmax_right in H; lra.
Qed.

Lemma above_ext (f g : R -> R) a l :
  (forall x, a < x -> f x = g x) -> is_integral_above a f l -> is_integral_above a g l.
Proof.
  intros E. unfold is_integral_below, is_integral_above.
  apply (is_RInt_gen_ext (V := R_NormedModule) f g l). apply Filter_prod with (fun u => u = a) (fun v => a < v).
  - reflexivity.
  - now exists a.
  - simpl. intros u v -> V x [H _]. apply E. rewrite Rmin_left in H; lra.
Qed.

Lemma between_ext (f g : R -> R) a b l : a <= b ->
  (forall x, a < x < b -> f x = g x) -> is_RInt f a b l -> is_RInt g a b l.
Proof. intros ab E. apply is_RInt_ext. rewrite Rmin_left, Rmax_right by exact ab. exact E. Qed.

Lemma integral_is_unique f u v : is_integral_over_line f u -> is_integral_over_line f v -> u = v.
Proof.
  unfold is_integral_over_line. intros U V. apply (is_RInt_gen_unique (V := R_CompleteNormedModule)) in U.
  apply (is_RInt_gen_unique (V := R_CompleteNormedModule)) in V. now rewrite <- U, <- V.
Qed.

Lemma line_is_halves f a u v : is_integral_below a f u -> is_integral_above a f v -> is_integral_over_line f (u + v).
Proof. intros U V. exact (is_RInt_gen_Chasles f a u v U V). Qed.

Lemma integral_above_of_zero a : is_integral_above a (fun _ => 0) 0.
Proof.
  assert (H : is_integral_above a (fun _ => 0) (0 - 0)).
  { apply (integral_by_antiderivative (fun _ => 0) (fun _ => 0) 0 0); try apply filterlim_const; intros x.
    - apply @is_derive_const.
    - apply continuous_const. }
  now rewrite Rminus_0_r in H.
Qed.

Lemma integral_below_of_zero a : is_integral_below a (fun _ => 0) 0.
Proof.
  assert (H : is_integral_below a (fun _ => 0) (0 - 0)).
  { apply (integral_by_antiderivative (fun _ => 0) (fun _ => 0) 0 0); try apply filterlim_const; intros x.
    - apply @is_derive_const.
    - apply continuous_const. }
  now rewrite Rminus_0_r in H.
Qed.

(* The divergence of a pair whose likelihood ratio crosses c once. *)

Lemma hockey_stick_below c f g a u v :
  (forall x, x < a -> c * g x <= f x) -> (forall x, a < x -> f x <= c * g x) ->
  is_integral_below a f u -> is_integral_below a g v -> is_hockey_stick c f g (u - c * v).
Proof.
  intros low high U V. replace (u - c * v) with (u - c * v + 0) by ring. apply line_is_halves with a.
  - apply below_ext with (fun x => f x - c * g x).
    + intros x X. rewrite Rmax_right; [reflexivity|]. specialize (low x X). lra.
    + exact (is_RInt_gen_minus f (fun x => c * g x) u (c * v) U (is_RInt_gen_scal g c v V)).
  - apply above_ext with (fun _ => 0); [|apply integral_above_of_zero].
    intros x X. rewrite Rmax_left; [reflexivity|]. specialize (high x X). lra.
Qed.

Lemma hockey_stick_above c f g a u v :
  (forall x, a < x -> c * g x <= f x) -> (forall x, x < a -> f x <= c * g x) ->
  is_integral_above a f u -> is_integral_above a g v -> is_hockey_stick c f g (u - c * v).
Proof.
  intros high low U V. replace (u - c * v) with (0 + (u - c * v)) by ring. apply line_is_halves with a.
  - apply below_ext with (fun _ => 0); [|apply integral_below_of_zero].
    intros x X. rewrite Rmax_left; [reflexivity|]. specialize (low x X). lra.
  - apply above_ext with (fun x => f x - c * g x).
    + intros x X. rewrite Rmax_right; [reflexivity|]. specialize (high x X). lra.
    + exact (is_RInt_gen_minus f (fun x => c * g x) u (c * v) U (is_RInt_gen_scal g c v V)).
Qed.

(* Pure privacy of densities, for events that are intervals. *)

Theorem pure_privacy_of_intervals : forall Input (neighbours : Input -> Input -> Prop) M epsilon,
  purely_private_density neighbours M epsilon ->
  forall x y low high u v, neighbours x y -> low <= high ->
  is_RInt (M x) low high u -> is_RInt (M y) low high v -> u <= exp epsilon * v.
Proof.
  intros Input neighbours M epsilon H x y low high u v near order U V.
  apply (is_RInt_le (M x) (fun z => exp epsilon * M y z) low high u (exp epsilon * v) order U).
  - exact (is_RInt_scal (M y) low high (exp epsilon) v V).
  - intros z _. now apply H.
Qed.

(* The Laplace mechanism. *)

Lemma laplace_is_positive scale mean x : 0 < scale -> 0 < laplace scale mean x.
Proof. intros S. apply Rmult_lt_0_compat; [apply exp_pos|apply Rinv_0_lt_compat; lra]. Qed.

Theorem laplace_likelihood_ratio : forall scale s mean mean' x,
  0 < scale -> Rabs (mean - mean') <= s -> laplace scale mean x <= exp (s / scale) * laplace scale mean' x.
Proof.
  intros scale s m m' x S H. unfold laplace, Rdiv. rewrite <- Rmult_assoc, <- exp_plus.
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|].
  replace (s * / scale + - Rabs (x - m') * / scale) with ((s - Rabs (x - m')) * / scale) by ring.
  assert (T : Rabs (x - m') <= Rabs (x - m) + Rabs (m - m')).
  { replace (x - m') with ((x - m) + (m - m')) by ring. apply Rabs_triang. }
  assert (Q : - Rabs (x - m) * / scale <= (s - Rabs (x - m')) * / scale).
  { apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|lra]. }
  destruct Q as [Q| ->]; [left; now apply exp_increasing|right; reflexivity].
Qed.

Theorem laplace_mechanism_is_purely_private : forall Input (neighbours : Input -> Input -> Prop) f s epsilon,
  0 < s -> 0 < epsilon -> sensitivity_at_most neighbours f s ->
  purely_private_density neighbours (laplace_mechanism f (s / epsilon)) epsilon.
Proof.
  intros Input neighbours f s epsilon S E H x y near outcome.
  replace epsilon with (s / (s / epsilon)) at 2 by (field; lra). apply laplace_likelihood_ratio.
  - now apply Rdiv_lt_0_compat.
  - now apply H.
Qed.

Lemma exp_of_quotient_vanishes scale : 0 < scale ->
  filterlim (fun x => exp (x / scale)) (Rbar_locally m_infty) (locally 0).
Proof.
  intros S. apply (filterlim_comp _ _ _ (fun x => x / scale) exp _ (Rbar_locally m_infty)); [|apply is_lim_exp_m].
  intros P [M HM]. exists (M * scale). intros x X. apply HM. apply Rmult_lt_reg_r with scale; [exact S|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r; lra.
Qed.

Lemma laplace_below scale mean a : 0 < scale -> a <= mean ->
  is_integral_below a (laplace scale mean) (exp ((a - mean) / scale) / 2).
Proof.
  intros S A. set (F := fun x => exp ((x - mean) / scale) / 2).
  apply below_ext with (fun x => exp ((x - mean) / scale) / (2 * scale)).
  { intros x X. unfold laplace. rewrite Rabs_left by lra. f_equal. f_equal. field. lra. }
  replace (exp ((a - mean) / scale) / 2) with (F a - 0) by (unfold F; ring).
  apply (integral_by_antiderivative F (fun x => exp ((x - mean) / scale) / (2 * scale)) 0 (F a)).
  - intros x. unfold F. auto_derive; [exact I|]. unfold Rminus, Rdiv. field. lra.
  - intros x. apply (ex_derive_continuous (V := R_NormedModule)). auto_derive. exact I.
  - replace 0 with (0 * (exp (- mean / scale) / 2)) by ring.
    apply filterlim_ext with (fun x => exp (x / scale) * (exp (- mean / scale) / 2)).
    { intros x. unfold F, Rdiv. rewrite <- Rmult_assoc, <- exp_plus. f_equal. f_equal. ring. }
    apply (filterlim_comp _ _ _ _ (fun y => y * (exp (- mean / scale) / 2)) _ _ _ (exp_of_quotient_vanishes scale S)).
    apply (continuous_mult (fun y : R => y) (fun _ => exp (- mean / scale) / 2) 0 (continuous_id 0)
      (continuous_const _ 0)).
  - apply limit_at_point.
Qed.

Lemma laplace_above scale mean a : 0 < scale -> mean <= a ->
  is_integral_above a (laplace scale mean) (exp (- (a - mean) / scale) / 2).
Proof.
  intros S A. set (F := fun x => - (exp (- (x - mean) / scale) / 2)).
  apply above_ext with (fun x => exp (- (x - mean) / scale) / (2 * scale)).
  { intros x X. unfold laplace. now rewrite Rabs_right by lra. }
  replace (exp (- (a - mean) / scale) / 2) with (0 - F a) by (unfold F; ring).
  apply (integral_by_antiderivative F (fun x => exp (- (x - mean) / scale) / (2 * scale)) (F a) 0).
  - intros x. unfold F. auto_derive; [exact I|]. unfold Rminus, Rdiv. field. lra.
  - intros x. apply (ex_derive_continuous (V := R_NormedModule)). auto_derive. exact I.
  - apply limit_at_point.
  - replace 0 with (0 * - (exp (mean / scale) / 2)) by ring.
    apply filterlim_ext with (fun x => exp (- x / scale) * - (exp (mean / scale) / 2)).
    { intros x. unfold F, Rdiv. transitivity (- (exp (- x * / scale) * exp (mean * / scale) * / 2)); [ring|].
      rewrite <- exp_plus. f_equal. f_equal. f_equal. ring. }
    apply (filterlim_comp _ _ _ (fun x => exp (- x / scale)) (fun y => y * - (exp (mean / scale) / 2)) _ (locally 0)).
    + apply (filterlim_comp _ _ _ Ropp (fun x => exp (x / scale)) _ (Rbar_locally m_infty)).
      * apply (filterlim_Rbar_opp p_infty).
      * now apply exp_of_quotient_vanishes.
    + apply (continuous_mult (fun y : R => y) (fun _ => - (exp (mean / scale) / 2)) 0 (continuous_id 0)
        (continuous_const _ 0)).
Qed.

Theorem laplace_is_a_density : forall scale mean, 0 < scale -> is_density (laplace scale mean).
Proof.
  intros scale mean S. split; [intros x; now apply Rlt_le, laplace_is_positive|].
  replace 1 with (exp ((mean - mean) / scale) / 2 + exp (- (mean - mean) / scale) / 2).
  - apply line_is_halves with mean; [apply laplace_below|apply laplace_above]; lra.
  - rewrite Rminus_diag_eq, Ropp_0 by reflexivity. unfold Rdiv. rewrite Rmult_0_l, exp_0. lra.
Qed.

(* From the mean on, what is below is what is not above. *)
Lemma laplace_below_beyond scale mean a : 0 < scale -> mean <= a ->
  is_integral_below a (laplace scale mean) (1 - exp (- (a - mean) / scale) / 2).
Proof.
  intros S A. set (F := fun x => - (exp (- (x - mean) / scale) / 2)).
  replace (1 - exp (- (a - mean) / scale) / 2) with (exp ((mean - mean) / scale) / 2 + (F a - F mean)).
  - apply (is_RInt_gen_Chasles (laplace scale mean) mean); [apply laplace_below; lra|].
    apply is_RInt_gen_at_point.
    apply between_ext with (fun x => exp (- (x - mean) / scale) / (2 * scale)); [exact A| |].
    { intros x X. unfold laplace. now rewrite Rabs_right by lra. }
    apply (is_RInt_derive F).
    + intros x _. unfold F. auto_derive; [exact I|]. unfold Rminus, Rdiv. field. lra.
    + intros x _. apply (ex_derive_continuous (V := R_NormedModule)). auto_derive. exact I.
  - unfold F. rewrite Rminus_diag_eq, Ropp_0 by reflexivity. unfold Rdiv. rewrite Rmult_0_l, exp_0. lra.
Qed.

(* The profile of two Laplace densities whose means differ by s. *)
Theorem laplace_profile : forall scale s epsilon, 0 < scale -> 0 <= epsilon <= s / scale ->
  is_profile (laplace scale 0) (laplace scale s) epsilon (1 - exp ((epsilon - s / scale) / 2)).
Proof.
  intros scale s epsilon S [E small].
  assert (bounded : scale * epsilon <= s).
  { apply Rmult_le_compat_l with (r := scale) in small; [|lra].
    now replace (scale * (s / scale)) with s in small by (field; lra). }
  assert (0 <= scale * epsilon) by (apply Rmult_le_pos; lra).
  set (a := (s - scale * epsilon) / 2).
  replace (1 - exp ((epsilon - s / scale) / 2)) with
    (1 - exp (- (a - 0) / scale) / 2 - exp epsilon * (exp ((a - s) / scale) / 2)).
  2:{ unfold Rdiv. rewrite <- Rmult_assoc, <- exp_plus.
    replace (epsilon + (a - s) * / scale) with ((epsilon - s * / scale) * / 2) by (unfold a; field; lra).
    replace (- (a - 0) * / scale) with ((epsilon - s * / scale) * / 2) by (unfold a; field; lra). field. }
  assert (ratio : forall x,
    exp epsilon * laplace scale s x = exp ((scale * epsilon - Rabs (x - s)) / scale) / (2 * scale)).
  { intros x. unfold laplace, Rdiv. rewrite <- Rmult_assoc, <- exp_plus. f_equal. f_equal. field. lra. }
  assert (compare : forall u v, u <= v -> exp (u / scale) / (2 * scale) <= exp (v / scale) / (2 * scale)).
  { intros u v UV. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|].
    assert (Q : u / scale <= v / scale) by (apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|exact UV]).
    destruct Q as [Q| ->]; [left; now apply exp_increasing|right; reflexivity]. }
  apply hockey_stick_below with a.
  - intros x X. rewrite ratio. apply compare. unfold a in X.
    destruct (Rcase_abs (x - 0)); destruct (Rcase_abs (x - s));
      rewrite ?(Rabs_left (x - 0)), ?(Rabs_right (x - 0)), ?(Rabs_left (x - s)), ?(Rabs_right (x - s)) by lra; lra.
  - intros x X. rewrite ratio. apply compare. unfold a in X.
    destruct (Rcase_abs (x - 0)); destruct (Rcase_abs (x - s));
      rewrite ?(Rabs_left (x - 0)), ?(Rabs_right (x - 0)), ?(Rabs_left (x - s)), ?(Rabs_right (x - s)) by lra; lra.
  - apply laplace_below_beyond; [exact S|unfold a; lra].
  - apply laplace_below; [exact S|unfold a; lra].
Qed.

(* The Gaussian pair. *)

Lemma gaussian_is_positive mean x : 0 < gaussian mean x.
Proof.
  apply Rmult_lt_0_compat; [apply exp_pos|]. apply Rinv_0_lt_compat, sqrt_lt_R0. generalize PI_RGT_0. lra.
Qed.

Lemma gaussian_ratio mu x : gaussian mu x = exp (mu * x - mu ^ 2 / 2) * gaussian 0 x.
Proof.
  unfold gaussian, Rdiv. rewrite <- Rmult_assoc, <- exp_plus. f_equal. f_equal. field.
Qed.

Theorem gaussian_privacy_loss : forall mu x, privacy_loss (gaussian mu) (gaussian 0) x = mu * x - mu ^ 2 / 2.
Proof.
  intros mu x. unfold privacy_loss. rewrite gaussian_ratio. unfold Rdiv at 1.
  rewrite Rmult_assoc, Rinv_r, Rmult_1_r; [apply ln_exp|]. apply Rgt_not_eq, gaussian_is_positive.
Qed.

Lemma gaussian_order mu epsilon x : 0 < mu -> (epsilon < mu * x - mu ^ 2 / 2 <-> epsilon / mu + mu / 2 < x).
Proof.
  intros M. split; intros H.
  - apply Rmult_lt_reg_l with mu; [exact M|].
    replace (mu * (epsilon / mu + mu / 2)) with (epsilon + mu ^ 2 / 2) by (field; lra). lra.
  - apply Rmult_lt_compat_l with (r := mu) in H; [|exact M].
    replace (mu * (epsilon / mu + mu / 2)) with (epsilon + mu ^ 2 / 2) in H by (field; lra). lra.
Qed.

Theorem gaussian_loss_exceeds : forall mu epsilon x, 0 < mu ->
  (epsilon < privacy_loss (gaussian mu) (gaussian 0) x <-> epsilon / mu + mu / 2 < x).
Proof. intros mu epsilon x M. rewrite gaussian_privacy_loss. now apply gaussian_order. Qed.

Lemma gaussian_above_shifted mu a l :
  is_integral_above (a - mu) (gaussian 0) l -> is_integral_above a (gaussian mu) l.
Proof.
  intros H. apply (above_ext (fun y => scal 1 (gaussian 0 (1 * y + - mu)))).
  { intros x _. unfold scal; simpl. unfold mult; simpl. unfold gaussian. rewrite Rmult_1_l. 
    do 5 f_equal. ring. }
  intros P HP. destruct (H P HP) as [Q R HQ [m HR] K].
  exists (fun x => Q (1 * x + - mu)) (fun y => R (1 * y + - mu)); simpl in *.
  - unfold at_point in *. now replace (1 * a + - mu) with (a - mu) by ring.
  - exists (m + mu). intros x X. apply HR. lra.
  - intros x y X Y. destruct (K _ _ X Y) as [z [Z PZ]]. exists z. split; [|exact PZ].
    exact (is_RInt_comp_lin (gaussian 0) 1 (- mu) x y z Z).
Qed.

(* The profile by tails of N(0, 1): with Phi, Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu). *)
Theorem gaussian_profile_by_tails : forall mu epsilon u v, 0 < mu ->
  is_integral_above (epsilon / mu - mu / 2) (gaussian 0) u ->
  is_integral_above (epsilon / mu + mu / 2) (gaussian 0) v ->
  is_profile (gaussian mu) (gaussian 0) epsilon (u - exp epsilon * v).
Proof.
  intros mu epsilon u v M U V.
  assert (D := gaussian_is_positive 0).
  apply hockey_stick_above with (epsilon / mu + mu / 2).
  - intros x X. rewrite (gaussian_ratio mu x). apply Rmult_le_compat_r; [now apply Rlt_le|].
    apply Rlt_le, exp_increasing. now apply gaussian_order.
  - intros x X. rewrite (gaussian_ratio mu x). apply Rmult_le_compat_r; [now apply Rlt_le|].
    destruct (Rle_lt_dec (mu * x - mu ^ 2 / 2) epsilon) as [[L| ->]|L]; [left; now apply exp_increasing|lra|].
    apply gaussian_order in L; lra.
  - apply gaussian_above_shifted.
    now replace (epsilon / mu + mu / 2 - mu) with (epsilon / mu - mu / 2) by (field; lra).
  - exact V.
Qed.
